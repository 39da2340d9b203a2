// ONNX Runtime behind Node's own HTTP server, written as simply as possible, for comparison by bench/serve.py.
//
// usage: server.js MODEL.onnx THREADS, with onnxruntime-node in NODE_PATH; prints the port
const http = require("http");
const ort = require("onnxruntime-node");

async function main(path, threads) {
  const session = await ort.InferenceSession.create(path, {intraOpNumThreads: Number(threads), interOpNumThreads: 1});
  const [input, output] = [session.inputNames[0], session.outputNames[0]];
  const answer = async (body) => {
    const {shape, data} = JSON.parse(body).inputs[0];
    const tensor = new ort.Tensor("float32", Float32Array.from(data), shape);
    const result = (await session.run({[input]: tensor}))[output];
    return JSON.stringify({outputs: [{name: output, datatype: "FP32", shape: result.dims, data: Array.from(result.data)}]});
  };
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", async () => {
      const body = await answer(Buffer.concat(parts));
      response.writeHead(200, {"Content-Type": "application/json", "Content-Length": Buffer.byteLength(body)});
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
main(...process.argv.slice(2));
