"""The Open Inference Protocol v2, as its clients use it."""

import datetime
import email.utils
import json
import os
import re
import struct
import time
import unittest

import served
import tool

ROWS = [[1.0, -2.0], [0.5, 3.0], [0.0, 0.25]]


class Protocol(served.ServeTest):
    def test_server_and_health(self):
        server = self.serve()
        self.assertEqual(server.get("/v2").json()["name"], "limpid")
        self.assertEqual(server.get("/v2").json()["extensions"], ["binary_tensor_data", "model_repository"])
        version = self.output("--version").split()[-1]
        self.assertEqual(server.get("/").json(), {"name": "limpid", "version": version})
        self.assertEqual(server.get("/v2").json()["version"], version)
        self.assertEqual(server.get("/metrics").headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertEqual(server.get("/v2/health/live").json(), {"live": True})
        self.assertEqual(server.get("/v2/health/ready").json(), {"ready": True})
        self.assertEqual(server.get("/health").json(), {"status": "ok"})
        self.assertEqual(server.get("/v2/models").json(), {"models": ["net"]})

    def test_metadata_is_the_functions(self):
        server = self.serve(self.model, f"all@3={self.every}", f"me@home@2={self.every}")
        self.assertEqual(server.get("/v2/models/net").json(),
                         {"name": "net", "versions": ["1"], "platform": "limpid",
                          "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
                          "outputs": [{"name": "logits", "datatype": "FP32", "shape": [-1, 1]}]})
        every = server.get("/v2/models/all/versions/3").json()
        self.assertEqual([i["datatype"] for i in every["inputs"]], list(served.DTYPES.values()))
        self.assertEqual(server.get("/v2/models/all/ready").json(), {"name": "all", "ready": True})
        self.refused(server.get("/v2/models/all/versions/2"), 404)
        self.assertEqual(server.get("/v2/models/me@home").json()["versions"], ["2"])
        self.refused(server.get("/v2/models/net2"), 404)

    def test_answers_have_the_bits_of_run(self):
        server = self.serve()
        expected = self.run_rows(ROWS)
        for binary_output in (False, True):
            answer = server.post("/v2/models/net/infer", served.infer_json(ROWS, binary_output=binary_output))
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(served.outputs_of(answer), {"logits": expected})
            body, headers = served.infer_binary(ROWS, binary_output=binary_output)
            answer = server.post("/v2/models/net/infer", body, headers)
            self.assertEqual(served.outputs_of(answer), {"logits": expected}, answer)

    def test_lists_as_the_shape_has_them_and_flat_ones_are_the_same(self):
        server = self.serve()
        request = served.infer_json(ROWS)
        flat = server.post("/v2/models/net/infer", request).body
        request["inputs"][0]["data"] = ROWS
        self.assertEqual(server.post("/v2/models/net/infer", request).body, flat)
        # Bodies so large are read by another thread, also where their rows fill no batch.
        self.assertEqual(server.post("/v2/models/net/infer", json.dumps(request).encode() + b" " * 70_000).body, flat)

    def test_an_id_comes_back_and_no_rows_have_an_answer(self):
        server = self.serve()
        request = dict(served.infer_json(ROWS), id="my \"id\" \u00e4")
        self.assertEqual(server.post("/v2/models/net/infer", request).json()["id"], "my \"id\" \u00e4")
        answer = server.post("/v2/models/net/infer", served.infer_json([])).json()
        self.assertEqual(answer["outputs"][0]["shape"], [0, 1])
        self.assertEqual(answer["outputs"][0]["data"], [])

    def test_more_rows_than_a_batch(self):
        server = self.serve(self.model, "--max-batch", "4")
        rows = [[i / 7, -i / 3] for i in range(50)]
        answer = server.post("/v2/models/net/infer", served.infer_json(rows))
        self.assertEqual(served.outputs_of(answer)["logits"], self.run_rows(rows))

    def every_request(self, values, binary):
        inputs, data = [], b""
        for name, dtype in served.DTYPES.items():
            tensor = {"name": name, "datatype": dtype, "shape": [len(values[name]) // 2, 2]}
            if binary:
                content = struct.pack(f"<{len(values[name])}{served.PACK[name]}", *values[name])
                tensor["parameters"] = {"binary_data_size": len(content)}
                data += content
            else:
                tensor["data"] = values[name]
            inputs.append(tensor)
        return {"inputs": inputs}, data

    def test_every_dtype_passes_through(self):
        server = self.serve(self.every)
        values = {"f32": [0.1, -1.5e-42], "f64": [0.1, -1e308], "bf16": [1.0, -2.5], "f16": [0.5, 65504.0],
                  "i32": [2**31 - 1, -2**31], "i64": [2**63 - 1, -2**63], "i8": [127, -128], "u8": [255, 0],
                  "bool": [True, False]}
        request, _ = self.every_request(values, False)
        answer = server.post("/v2/models/every/infer", request)
        self.assertEqual(answer.status, 200, answer)
        for output in answer.json()["outputs"]:
            name = output["name"][len("out_"):]
            self.assertEqual(output["datatype"], served.DTYPES[name])
            if name == "f32":
                self.assertEqual([tool.f32(x) for x in output["data"]], [tool.f32(x) for x in values[name]])
            else:
                # 65500 has fewer digits than 65504, and is the same number in f16.
                self.assertEqual(output["data"], [0.5, 65500] if name == "f16" else values[name], name)
        self.assertIn(b"[0.1,", answer.body)

    def test_every_dtype_as_bytes(self):
        server = self.serve(self.every)
        bits = {"f32": [1.5, float("-inf")], "f64": [0.1, float("inf")], "bf16": [0x7f80, 0x8001], "f16": [0xfc00, 1],
                "i32": [-1, 7], "i64": [-1, 2**62], "i8": [-7, 7], "u8": [200, 1], "bool": [1, 0]}
        request, data = self.every_request(bits, True)
        request["parameters"] = {"binary_data_output": True}
        head = json.dumps(request).encode()
        answer = server.post("/v2/models/every/infer", head + data, [("Inference-Header-Content-Length", len(head))])
        self.assertEqual(b"".join(served.outputs_of(answer).values()), data)
        self.assertEqual(answer.headers["content-type"], "application/octet-stream")
        answer = server.post("/v2/models/every/infer", head + data[:-1] + b"\2", [("Inference-Header-Content-Length", len(head))])
        self.refused(answer, 400)

    def test_nan_and_infinities_are_strings(self):
        server = self.serve(self.every)
        special = ["NaN", "Infinity", "-Infinity", "NaN"]
        values = {"f32": special, "f64": special, "bf16": special, "f16": special, "i32": [0] * 4, "i64": [0] * 4,
                  "i8": [0] * 4, "u8": [0] * 4, "bool": [False] * 4}
        answer = server.post("/v2/models/every/infer", self.every_request(values, False)[0]).json()
        for output in answer["outputs"][:4]:
            self.assertEqual(output["data"], special)

    def test_outputs_by_name(self):
        server = self.serve(self.every)
        values = {name: [0, 1] for name in served.DTYPES}
        values["bool"] = [False, True]
        request, _ = self.every_request(values, False)
        request["outputs"] = [{"name": "out_i8"}, {"name": "out_f32", "parameters": {"binary_data": True}}]
        answer = server.post("/v2/models/every/infer", request)
        head = json.loads(answer.body[:int(answer.headers["inference-header-content-length"])])
        self.assertEqual([o["name"] for o in head["outputs"]], ["out_i8", "out_f32"])
        self.assertTrue(answer.body.endswith(struct.pack("<2f", 0, 1)))
        # What is said of all outputs counts for those that say nothing else.
        request["parameters"] = {"binary_data_output": True}
        request["outputs"] = [{"name": "out_i8"}, {"name": "out_f32", "parameters": {"binary_data": False}}]
        answer = server.post("/v2/models/every/infer", request)
        head = json.loads(answer.body[:int(answer.headers["inference-header-content-length"])])
        self.assertEqual(head["outputs"][0]["parameters"], {"binary_data_size": 2})
        self.assertEqual(head["outputs"][1]["data"], [0, 1])

    def test_outputs_without_a_name_have_one(self):
        text = "function two(%x: f32[2]) {\n  %0 = negate(%x) : f32[2]\n  return %x, %0\n}\n"
        two = self.folder / "two.safetensors"
        two.write_bytes(tool.file_of(tool.header_of({}, dict(tool.metadata_of(text), **{"limpid.inputs": "1"})), b""))
        server = self.serve(two)
        self.assertEqual([o["name"] for o in server.get("/v2/models/two").json()["outputs"]], ["output", "output.1"])
        request = dict(served.infer_json(ROWS[:1]), outputs=[{"name": "output.1"}])
        self.assertEqual(server.post("/v2/models/two/infer", request).json()["outputs"][0]["data"], [-1, 2])

    def test_head_and_other_methods(self):
        server = self.serve()
        answer = server.request("HEAD", "/v2/models/net")
        self.assertEqual((answer.status, answer.body), (200, b""))
        answer = server.get("/v2/models/net/infer")
        self.refused(answer, 405)
        self.assertEqual(answer.headers["allow"], "POST")
        answer = server.post("/health", b"")
        self.refused(answer, 405)
        self.assertEqual(answer.headers["allow"], "GET, HEAD")

    def test_an_answer_has_its_date(self):
        """That of its second, not of an answer before it."""
        server, dates = self.serve(), set()
        for _ in range(600):
            text = server.get("/health").headers["date"]
            date = email.utils.parsedate_to_datetime(text)
            self.assertEqual(email.utils.format_datetime(date, usegmt=True), text)  # the day of the week, too
            self.assertLess(abs(datetime.datetime.now(datetime.timezone.utc) - date), datetime.timedelta(minutes=10))
            dates.add(date)
            if len(dates) > 1:
                return
            time.sleep(0.1)
        self.fail(f"the date stays {dates}")

    def test_a_client_is_told_to_send_its_body(self):
        body = json.dumps(served.infer_json(ROWS)).encode()
        head = served.request_bytes("POST", "/v2/models/net/infer", body, [("Expect", "100-continue")])[:-len(body)]
        with self.serve().connect(timeout=20) as connection, connection.makefile("rb") as stream:
            connection.sendall(head)
            self.assertEqual(served.read_answer(stream).status, 100)
            connection.sendall(body)
            self.assertEqual(served.read_answer(stream).status, 200)


class Repository(served.ServeTest):
    def test_index(self):
        server = self.serve(self.model, f"b@2={self.every}", f"b@10={self.model}")
        index = server.post("/v2/repository/index", b"").json()
        self.assertEqual([(m["name"], m["version"], m["state"]) for m in index],
                         [("b", "2", "READY"), ("b", "10", "READY"), ("net", "1", "READY")])
        self.assertEqual(server.get("/v2/models").json(), {"models": ["b", "net"]})
        self.assertEqual(server.get("/v2/models/b").json()["versions"], ["2", "10"])
        self.assertEqual(server.get("/v2/models/b").json()["inputs"][0]["name"], "x")

    def test_index_of_the_ready_ones(self):
        server = self.serve(self.model, self.every, "--allow-load")
        server.post("/v2/repository/models/net/unload", b"")
        for asked, names in (({}, ["every", "net"]), ({"ready": False}, ["every", "net"]), ({"ready": True}, ["every"])):
            self.assertEqual([m["name"] for m in server.post("/v2/repository/index", asked).json()], names)
        for body in (b"{", b"[]", b'{"ready": 1}'):
            self.refused(server.post("/v2/repository/index", body), 400)

    def test_a_trace_is_that_of_the_tool(self):
        server = self.serve(self.model, "--inspect")
        expected = self.document("trace", self.model, "--values", "1,-2", "--neuron", "layers.0:1")
        request = served.infer_json(ROWS[:1])
        request["parameters"] = {"neuron": "layers.0:1"}
        answer = server.post("/v2/models/net/trace", request).json()
        self.assertEqual((answer["ops"], answer["neuron"]), (expected["ops"], expected["neuron"]))
        self.assertNotIn("neuron", server.post("/v2/models/net/trace", served.infer_json(ROWS[:1])).json())
        self.refused(server.post("/v2/models/net/trace", served.infer_json(ROWS)), 400)
        for neuron in ("layers.0", "layers.9:0", "layers.0:99"):
            request["parameters"]["neuron"] = neuron
            self.refused(server.post("/v2/models/net/trace", request), 400)
        self.assertEqual((answer["model_name"], answer["model_version"]), ("net", "1"))
        self.refused(self.serve().post("/v2/models/net/trace", request), 403)

    def test_what_computes_or_changes_is_posted(self):
        """A page of any origin may GET."""
        server = self.serve(self.model, "--allow-load", "--inspect")
        for path in ("/v2/repository/index", "/v2/repository/models/net/unload", "/v2/repository/models/net/load", "/v2/models/net/trace"):
            answer = server.get(path)
            self.refused(answer, 405)
            self.assertEqual(answer.headers["allow"], "POST", path)
        self.assertEqual(server.get("/v2/models/net/ready").status, 200)

    def test_unload_and_load(self):
        server = self.serve(self.model, "--allow-load")
        self.assertEqual(server.post("/v2/repository/models/net/unload", b"").status, 200)
        self.refused(server.post("/v2/models/net/infer", served.infer_json(ROWS)), 404)
        self.assertEqual(server.get("/v2/models").json(), {"models": []})
        self.assertNotIn("limpid_model_bytes{", server.get("/metrics").body.decode())
        self.refused(server.post("/v2/repository/models/other/unload", b""), 404)
        self.assertEqual(server.post("/v2/repository/models/net/load", b"").status, 200)
        self.assertEqual(server.post("/v2/models/net/infer", served.infer_json(ROWS)).status, 200)
        self.refused(server.post("/v2/repository/models/other/load", b""), 404)

    def test_every_version_is_loaded_and_unloaded(self):
        other = self.folder / "other.safetensors"
        other.write_bytes(self.model.read_bytes())
        server = self.serve(f"b@2={other}", f"b@10={self.model}", "--allow-load")
        both = self.model_bytes(server, "b")
        self.assertEqual(server.post("/v2/repository/models/b/unload", b"").status, 200)
        for version in (2, 10):
            self.refused(server.get(f"/v2/models/b/versions/{version}"), 404)
        self.assertEqual({m["reason"] for m in server.post("/v2/repository/index", b"").json()}, {"unloaded"})
        # A bad one keeps none of the others out.
        other.write_bytes(b"no model")
        self.refused(server.post("/v2/repository/models/b/load", b""), 400)
        self.assertEqual(server.get("/v2/models/b").json()["versions"], ["10"])
        self.assertEqual(both, 2 * self.model_bytes(server, "b"))

    def model_bytes(self, server, name):
        return int(re.search(rf'limpid_model_bytes\{{model="{name}"\}} (\d+)', server.get("/metrics").body.decode())[1])

    def test_without_a_model_that_is_wanted_the_server_is_not_ready(self):
        server = self.serve(self.model, "--allow-load")
        server.post("/v2/repository/models/net/unload", b"")
        self.assertEqual(server.get("/v2/health/ready").status, 200)
        away = self.folder / "away"
        os.rename(self.model, away)
        self.refused(server.post("/v2/repository/models/net/load", b""), 400)
        answer = server.get("/v2/health/ready")
        self.assertEqual((answer.status, answer.json()), (503, {"ready": False}))
        os.rename(away, self.model)
        self.assertEqual(server.post("/v2/repository/models/net/load", b"").status, 200)
        self.assertEqual(server.get("/v2/health/ready").status, 200)

    def test_a_model_that_cannot_be_read_leaves_the_old_one(self):
        server = self.serve(self.model, "--allow-load")
        before = server.post("/v2/models/net/infer", served.infer_json(ROWS)).body
        broken = self.folder / "broken"
        broken.write_bytes(b"no model")
        broken.rename(self.model)
        self.refused(server.post("/v2/repository/models/net/load", b""), 400)
        entry, = server.post("/v2/repository/index", b"").json()
        self.assertEqual(entry["state"], "READY")
        self.assertIn("could not be read", entry["reason"])
        self.assertEqual(server.post("/v2/models/net/infer", served.infer_json(ROWS)).body, before)


if __name__ == "__main__":
    unittest.main()
