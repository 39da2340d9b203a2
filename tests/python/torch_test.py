#!/usr/bin/env python3
"""limpid.torch, and PyTorch's tensors as arrays."""

import sys
import unittest
import warnings

try:
    import torch
except ImportError:
    print("skipped: python3-torch is missing")
    sys.exit(0)

import numpy as np

import limpid as lp
import limpid.torch as lt
from refusals import Refusals


class Torch(Refusals):
    def setUp(self):
        torch.manual_seed(0)

    def test_tensors_come_in_without_a_copy(self):
        t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        with lp.no_copy():
            a = lp.asarray(t)
        self.assertEqual(np.asarray(a).__array_interface__["data"][0], t.data_ptr())
        np.testing.assert_array_equal(np.asarray(lp.asarray(t.T)), t.T.numpy())
        self.assertEqual(lp.asarray(t.to(torch.bfloat16)).type, "bf16[2, 3]")
        for dtype in (torch.float64, torch.int32, torch.int64, torch.int8, torch.uint8, torch.float16, torch.bool):
            np.testing.assert_array_equal(np.asarray(lp.asarray(t.to(dtype))), t.to(dtype).numpy())

        self.refused(lambda: lp.asarray(torch.ones(2, requires_grad=True)), RuntimeError)
        self.refused(lambda: lp.asarray(torch.ones(2, dtype=torch.complex64)), TypeError)

    def test_arrays_go_out_as_copies_that_may_be_written(self):
        a = lp.ones((2, 3))
        t = torch.from_dlpack(a)
        t += 1
        self.assertEqual(a.sum().item(), 6)
        self.assertEqual(t.sum().item(), 12)

    def test_a_function_in_a_graph(self):
        f = lt.torch_function(lambda x, w: lp.tanh(lp.matmul(x, w)).sum())
        x = torch.randn(4, 3, requires_grad=True)
        w = torch.randn(3, 2, requires_grad=True)
        f(x, w).backward()
        gx, gw = x.grad.clone(), w.grad.clone()
        x.grad = w.grad = None
        torch.tanh(x @ w).sum().backward()
        torch.testing.assert_close(gx, x.grad)
        torch.testing.assert_close(gw, w.grad)

    def test_parameters_of_any_dtype(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            module = torch.nn.BatchNorm1d(3).to(dtype)
            params = lt.params_of(module)
            self.assertEqual(list(params), list(module.state_dict()))
            self.assertEqual(params["num_batches_tracked"].type, "i64[]")
            np.testing.assert_array_equal(np.asarray(lp.cast(params["weight"], "f32")), module.weight.detach().float().numpy())
            torch.nn.init.zeros_(module.weight)
            self.assertEqual(lp.cast(params["weight"], "f32").tolist(), [1, 1, 1])

    def test_gradients_of_gradients(self):
        f = lt.torch_function(lambda x, w, i: (lp.tanh(lp.matmul(x, w)) * lp.sin(x.sum()), (x * x).sum(axis=0)))
        x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
        w = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
        i = torch.arange(3)
        self.assertTrue(torch.autograd.gradcheck(lambda x, w: f(x, w, i), (x, w)))
        self.assertTrue(torch.autograd.gradgradcheck(lambda x, w: f(x, w, i), (x, w)))

    def test_results_of_a_function(self):
        one = lt.torch_function(lambda x: (x * 2.0,))
        x = torch.ones(3, requires_grad=True)
        (y,) = one(x)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [2.0] * 3)
        # One function gives an array of some arguments, and a tuple of others.
        either = lt.torch_function(lambda x: x * 3.0 if x.ndim == 1 else (x * 4.0, x * 5.0))
        for shape, want in (((3,), 3), ((1, 3), 9)):
            x = torch.ones(shape, requires_grad=True)
            y = either(x)
            (y if len(shape) == 1 else y[0] + y[1]).sum().backward()
            self.assertEqual(x.grad.flatten().tolist(), [want] * 3)
        x = torch.ones(3, requires_grad=True)
        half = lt.torch_function(lambda x: lp.cast(x, "bf16"))(torch.ones(3))
        self.assertEqual(half.dtype, torch.bfloat16)
        x.grad = None
        y, place = lt.torch_function(lambda x: (x * x, lp.argmax(x)))(x)
        for result in ([1.0], {"y": 1.0}):
            self.refused(lambda: lt.torch_function(lambda x: result)(x), TypeError)
        self.refused(lambda: lt.torch_function(lambda x: x, threads=0), ValueError)
        self.refused(lambda: lt.torch_function(lambda x: x)(2.0), TypeError)
        self.assertFalse(place.requires_grad)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [2.0] * 3)

    def test_a_module_is_left_as_it_was(self):
        module, x = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5)), torch.randn(3, 4)
        for training in (True, False):
            module.train(training)
            model = lt.from_torch(module, x)
            self.assertEqual({part.training for part in module.modules()}, {training})
            np.testing.assert_allclose(np.asarray(model(x)), module[0](x).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_convolutions(self):
        """By ONNX, by state_dict, and of padding that is named."""
        module = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, stride=(2, 1), padding=1), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, (1, 3), groups=4, padding=(0, 1)),
            torch.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1),
        )
        net = lp.nn.sequential(
            lp.nn.Conv2d(3, 4, 3, stride=(2, 1), padding=1), lp.relu, lp.nn.Conv2d(4, 4, (1, 3), groups=4, padding="same"),
            lp.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1),
        )
        x = torch.randn(2, 3, 7, 6)
        want = module(x).detach().numpy()
        model = lt.from_torch(module, x)
        self.assertEqual(model.inputs, [("x", "f32[3, 7, 6]")])
        for got in (model(x), net(lt.params_of(module), x)):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4, atol=1e-5)
        self.assertEqual({k: v.shape for k, v in net.init().items()}, {k: tuple(v.shape) for k, v in module.state_dict().items()})
        causal = lp.nn.Conv1d(1, 1, 3, padding="causal", dilation=2, bias=False)
        line = np.float32([[[1, 2, 3, 4, 5, 6]]])
        taps = {"weight": np.float32([[[1, 0, 10]]])}
        self.assertEqual(np.asarray(causal(taps, line)).tolist(), [[[10, 20, 30, 40, 51, 62]]])
        for wrong in (lp.nn.Conv2d(1, 1, (1, 2, 3)), lp.nn.Conv2d(1, 1, 2, padding="same", stride=2), lp.nn.Conv1d(3, 2, 1, groups=2)):
            self.refused(lambda: wrong(wrong.init(), np.zeros((1, wrong.in_channels) + (4,) * 2, np.float32)), ValueError)
        self.refused(lambda: lp.nn.Conv1d(1, 1, 1, padding="reflect").init(), ValueError)

    def test_frozen_parts_of_a_module_stay_frozen(self):
        module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8).eval(), torch.nn.Dropout(0.5))
        modes = [part.training for part in module.modules()]
        lt.from_torch(module, torch.randn(3, 4))
        self.assertEqual([part.training for part in module.modules()], modes)
        self.assertEqual(modes, [True, True, False, True])

    def test_parameters_are_those_of_the_state_dict(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
                self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(4) for _ in range(2))  # equal first weights
                self.attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
                self.batch = torch.nn.BatchNorm1d(4)

            def forward(self, x):  # products of three dimensions
                x = self.norms[1](self.second(self.norms[0](self.first(x))))
                x = x + self.attention(x, x, x, need_weights=False)[0]
                return self.batch(x.mean(1))

        module, x = Net(), torch.randn(2, 3, 4)
        for training in (True, False):
            module.train(training)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the tracer, about the attention
                model = lt.from_torch(module, x)
            state = module.state_dict()
            del state["batch.num_batches_tracked"]
            self.assertEqual(set(model.params), set(state))
            for name, value in model.params.items():
                np.testing.assert_array_equal(np.asarray(value), state[name].numpy())
        np.testing.assert_allclose(np.asarray(model(x)), module.eval()(x).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_a_tied_weight_is_one_parameter(self):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.head = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False)
                self.head.weight = self.table.weight

            def forward(self, ids):
                return self.head(self.table(ids))

        module, ids = Tied(), torch.tensor([[0, 4]])
        model = lt.from_torch(module, ids)
        self.assertEqual(list(model.params), ["table.weight"])
        np.testing.assert_allclose(np.asarray(model(ids)), module(ids).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_layers_of_pictures(self):
        T = torch.nn
        module = T.Sequential(
            T.BatchNorm2d(4), T.MaxPool2d(3, 2, 1), T.ReLU(), T.AvgPool2d(2, 1, ceil_mode=True), T.GroupNorm(2, 4), T.Upsample(scale_factor=2),
            T.InstanceNorm2d(4), T.Dropout2d(), T.PixelShuffle(2), T.Upsample((9, 7), mode="bilinear"), T.AdaptiveAvgPool2d(1), T.Flatten(),
        ).eval()
        x = torch.randn(3, 4, 11, 9)
        np.testing.assert_allclose(np.asarray(lt.from_torch(module, x)(x)), module(x).detach().numpy(), rtol=1e-4, atol=1e-5)

    def test_a_module_of_two_inputs(self):
        class Weighted(torch.nn.Module):
            def forward(self, a, b):
                return 2 * a - b

        a, b = torch.randn(2, 3), torch.randn(2, 3)
        model = lt.from_torch(Weighted(), a[:1], b[:1])
        self.assertEqual(model.inputs, [("x0", "f32[3]"), ("x1", "f32[3]")])
        np.testing.assert_array_equal(np.asarray(model(a, b)), Weighted()(a, b).numpy())
        np.testing.assert_array_equal(np.asarray(model(x1=a, x0=b)), Weighted()(b, a).numpy())

    def test_modules(self):
        self.refused(lambda: lt.from_torch(3, torch.ones(1)), TypeError)
        self.refused(lambda: lt.from_torch(torch.nn.Linear(1, 1), np.zeros((1, 1), np.float32)), TypeError)

        class Determinant(torch.nn.Module):
            def forward(self, x):
                return torch.det(x)

        self.refused(lambda: lt.from_torch(Determinant(), torch.ones(1, 2, 2)), lp.UnsupportedError)
        self.refused(lambda: lt.from_torch(torch.nn.Linear(1, 1)), TypeError)
        module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        x = torch.randn(5, 4)
        want = module(x).detach().numpy()
        model = lt.from_torch(module, x[:1])
        self.assertEqual(model.inputs, [("x", "f32[4]")])
        np.testing.assert_allclose(np.asarray(model(x)), want, rtol=1e-5, atol=1e-6)
        net = lp.nn.sequential(lp.nn.Linear(4, 8), lp.relu, lp.nn.Linear(8, 2))
        np.testing.assert_allclose(np.asarray(net(lt.params_of(module), x)), want, rtol=1e-5, atol=1e-6)

        class Both(torch.nn.Module):
            def forward(self, x):
                return x * 2, x.sum(dim=1)

        class Causal(torch.nn.Module):
            def forward(self, x):
                return x.masked_fill(torch.tril(torch.ones(x.shape[1], x.shape[1])) == 0, -1.0)

        square = torch.randn(2, 3, 3)
        np.testing.assert_array_equal(np.asarray(lt.from_torch(Causal(), square)(square)), Causal()(square).numpy())
        whole = torch.round(16 * x)  # so that its sums are exact in any order
        double, total = lt.from_torch(Both(), whole[:2])(whole)
        np.testing.assert_array_equal(np.asarray(double), 2 * whole.numpy())
        np.testing.assert_array_equal(np.asarray(total), whole.sum(dim=1).numpy())


if __name__ == "__main__":
    unittest.main()
