# The code of Gate's graph, written by fxls. To change it, change the model.
import fxls.engine
import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from saved_models import clipped as saved_models_clipped


fxls.engine.wrap("saved_models_clipped")

def forward(self, signal):
    project = self.project(signal);  signal = None
    sigmoid = torch.sigmoid(project);  project = None
    slope = self.slope
    mul = sigmoid * slope;  sigmoid = slope = None
    shift = self.shift
    add = mul + shift;  mul = shift = None
    clipped = saved_models_clipped(add, 2.5);  add = None
    getitem = clipped[(Ellipsis, slice(1, None, None))];  clipped = None
    return getitem
