# The code of Blend's graph, written by fxls. To change it, change the model.
import fxls.engine._pytree as fx_pytree
import torch.utils._pytree as pytree


def forward(self, parts, mask, power):
    self, parts_1, parts_2, mask, power, = fx_pytree.tree_flatten_spec([self, parts, mask, power], self._in_spec)
    gate = self.gate(parts_1);  parts_1 = None
    sub = gate - parts_2;  gate = parts_2 = None
    mul = sub * mask;  sub = mask = None
    pow_1 = mul ** power;  power = None
    amin = mul.amin();  mul = None
    return pytree.tree_unflatten([pow_1, amin], self._out_spec)
