# Rules written as functions, recorded by calling them with proxies.
import torch
import torch.nn.functional as F
from fxls import engine as fx
from fxls.engine.proxy import GraphAppendingTracer


def relu_decomposition(x):
    return (x > 0) * x


decomposition_rules = {}
decomposition_rules[F.relu] = relu_decomposition


def decompose(
    model: torch.nn.Module, tracer_class: type = fx.Tracer
) -> torch.nn.Module:
    graph: fx.Graph = tracer_class().trace(model)
    new_graph = fx.Graph()
    env = {}
    tracer = GraphAppendingTracer(new_graph)
    for node in graph.nodes:
        if node.op == "call_function" and node.target in decomposition_rules:
            proxy_args = [
                fx.Proxy(env[x.name], tracer) if isinstance(x, fx.Node) else x
                for x in node.args
            ]
            output_proxy = decomposition_rules[node.target](*proxy_args)
            new_node = output_proxy.node
            env[node.name] = new_node
        else:
            new_node = new_graph.node_copy(node, lambda x: env[x.name])
            env[node.name] = new_node
    return fx.GraphModule(model, new_graph)


class Model(torch.nn.Module):
    def forward(self, x):
        return F.relu(x) + 1


decomposed = decompose(Model())
print(decomposed.graph)
print(decomposed(torch.tensor([-1.0, 2.0])))
