#!/usr/bin/env python3
"""Signals during a long call: their handlers run while it computes, and may end it."""

import functools
import os
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

import limpid as lp

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@unittest.skipUnless(hasattr(signal, "setitimer"), "needs timers")
class Interrupted(unittest.TestCase):
    """A timer raises a signal every 50 ms, and its handler an exception at the third. The calls take seconds: where handlers
    had to wait for the end of the call, there would be one."""

    class Third(Exception):
        pass

    def setUp(self):
        self.times = 0
        self.before = signal.signal(signal.SIGALRM, self.handler)

    def tearDown(self):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)

    def handler(self, number, frame):
        self.times += 1
        if self.times == 3:  # on a loaded machine a fourth may have come before the timer stops
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise self.Third

    def check(self, call):
        self.times = 0
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with self.assertRaises(self.Third):
            call()

    def test_compiled_code(self):
        def products(x):
            for _ in range(40):
                x = lp.tanh(lp.matmul(x, x))
            return x

        for threads in (1, 2):
            f = lp.compile(products, threads=threads)
            self.check(lambda: f(floats(2048, 2048)))
            small = floats(64, 64)
            self.assertTrue(f(small).same_bits(lp.compile(products)(small)))

    def test_a_sequence_that_a_handler_drops(self):
        net = lp.nn.Gpt(50, context=2048, layers=4, width=256, heads=4)
        model = lp.LanguageModel(net, net.init(), sequences=2)
        model.prepare()
        others = [model.join([1, 2, 3])]

        def drop(number, frame):
            self.times += 1
            others.clear()

        signal.signal(signal.SIGALRM, drop)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        text = model.generate([1] * 2000)
        while not self.times:
            next(text)
        signal.setitimer(signal.ITIMER_REAL, 0)
        next(text)
        self.assertEqual(model.places, 1)

    def test_the_reference_arithmetic(self):
        f = lp.trace(lambda x: functools.reduce(lambda y, _: lp.matmul(y, y), range(200), x), "f32[160, 160]")
        x = floats(160, 160)
        self.check(lambda: f.interpret(x))
        self.check(lambda: lp.inspect.trace(f, x))
        self.check(lambda: lp.inspect.neuron(f, "layers.0", 0, x))

    def test_one_call_of_the_reference_arithmetic(self):
        f = lp.trace(lambda x: lp.matmul(x, x), "f32[1500, 1500]")
        self.check(lambda: f.interpret(np.zeros((1500, 1500), np.float32)))

    def test_transforming_and_planning(self):
        def layers(count):
            return lp.trace(lambda x: functools.reduce(lambda y, _: lp.softmax(lp.layer_norm(y)), range(count), x), "f32[8, 16]")

        f = layers(4000)
        self.check(lambda: lp.expand(lp.grad(lp.trace(lambda x: lp.mean(f(x)), "f32[8, 16]"))))
        longer = layers(16000)
        self.check(lambda: longer.plan())
        self.check(lambda: lp.compile(longer)(floats(8, 16)))

    def test_a_file_that_nobody_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pipe.npy")
            os.mkfifo(path)
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                self.check(lambda: lp.save(path, floats(1_000_000)))
            finally:
                os.close(reader)

    def test_models(self):
        net = lp.nn.mlp([8, 2048, 2048, 2], lp.relu)
        params = net.init()
        model = lp.Model(net.function(), params)
        few, many = floats(3, 8), floats(50_000, 8)
        expected = model(few)
        for threads in (1, 2):
            model.threads = threads
            predict = lp.Predictor(net.function(), params, most_rows=4096, threads=threads)
            for call in (lambda: model(many), lambda: model(x=many), lambda: predict(many)):
                self.check(call)
            self.assertTrue(model(few).same_bits(expected))
            self.assertTrue(predict(few).same_bits(expected))

    def test_a_prompt(self):
        net = lp.nn.Gpt(64, context=2048, layers=8, width=512, heads=8)
        model = lp.LanguageModel(net, net.init())
        prompt = RNG.integers(0, 64, 1900).tolist()
        self.check(lambda: next(iter(model.generate(prompt, 2))))

    def test_data_and_the_perceptron(self):
        self.check(lambda: lp.data.digits(lp.Key(0), 200_000))
        self.check(lambda: lp.data.load("digits,count=200000"))
        self.check(lambda: lp.train.Run({"data": "digits,count=200000"}))
        x, y = np.float32([[0, 0], [0, 1], [1, 0], [1, 1]]), np.float32([0, 1, 1, 0])  # xor: it never ends
        self.check(lambda: lp.nn.train_perceptron(lp.nn.Perceptron(2), x, y, epochs=10_000_000))

    def test_a_check_of_a_gradient(self):
        f = lp.trace(lambda x: functools.reduce(lambda y, _: lp.tanh(lp.matmul(y, y)), range(8), x), "f32[128, 128]")
        self.check(lambda: lp.inspect.gradcheck(f, {"x": floats(128, 128)}))

    def test_other_threads_go_on(self):
        f = lp.compile(lambda x: lp.matmul(x, x))
        x = floats(1024, 1024)
        expected, results, done = f(x), [], threading.Event()

        def work():
            results.extend(f(x) for _ in range(20))
            done.set()

        thread = threading.Thread(target=work)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with self.assertRaises(self.Third):
            thread.start()
            while True:
                time.sleep(0.01)
        done.wait()
        thread.join()
        self.assertEqual(len(results), 20)
        self.assertTrue(all(r.same_bits(expected) for r in results))


if __name__ == "__main__":
    unittest.main()
