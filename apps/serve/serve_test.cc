// The program itself: what it answers, and what it refuses.

#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/serve/testing/served_process.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tls/authority.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/best_predictions.h"
#include "models/serving/predictor.h"
#include "nlohmann/json.hpp"
#include "tensor/files/access/private_file.h"
#include "tensor/text/str_cat.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::HttpClient;
using testing::HttpGet;
using testing::HttpPost;
using testing::HttpResponse;
using ::testing::Not;
using testing::ServedNet;
using testing::ServedProcess;
using testing::Values;

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string BytesOf(const Tensor& x) {
  return {reinterpret_cast<const char*>(x.raw_data()),
          size_t(x.num_elements()) * SizeOf(x.dtype())};
}

json Input(const Tensor& x) {
  return {
      {"name", "input"}, {"datatype", "FP32"}, {"shape", x.shape().extents()}, {"data", Values(x)}};
}

class ServeTest : public ::testing::Test {
 protected:
  std::string Model(const std::string& name, uint64_t seed = 1, int64_t classes = 4,
                    TensorFormat format = TensorFormat::kNHWC) {
    const std::string path = folder_ + "/" + name + ".safetensors";
    testing::SaveServed(path, ServedNet(classes, format), seed);
    return path;
  }
  static std::vector<double> Outputs(const std::string& model, const Tensor& x) {
    return Values(*(*Predictor::Load(model))->Predict(x));
  }
  static Tensor Samples(int64_t n, uint64_t seed = 7) {
    return testing::RandomTensor(DType::kFloat32, ServedNet().input_shape().Prepend(n), seed);
  }

  const std::string folder_ = testing::NewFolder("serve");
};

// The endpoints of the protocol.
TEST_F(ServeTest, SaysWhatItServes) {
  const ServedProcess server({Model("a"), Model("b", 2, 7, TensorFormat::kNCHW)});
  EXPECT_EQ(json::parse(server.Get("/v2"))["name"], "dtnn");
  EXPECT_EQ(json::parse(server.Get("/v2"))["extensions"], json({"binary_tensor_data"}));
  EXPECT_EQ(json::parse(server.Get("/v2/health/live"))["live"], true);
  EXPECT_EQ(json::parse(server.Get("/v2/health/ready"))["ready"], true);
  EXPECT_EQ(json::parse(server.Get("/v2/models"))["models"], json({"a", "b"}));
  EXPECT_EQ(json::parse(server.Get("/v2/models/b/ready")), json({{"name", "b"}, {"ready", true}}));
  EXPECT_EQ(json::parse(server.Get("/v2/models/a/versions/1/ready"))["ready"], true);
  const json a = json::parse(server.Get("/v2/models/a"));
  EXPECT_EQ(a["name"], "a");
  EXPECT_EQ(a["versions"], json({"1"}));
  EXPECT_EQ(a["inputs"], json::parse(R"([{"name": "input", "datatype": "FP32",
                                          "shape": [-1, 6, 5, 3]}])"));
  EXPECT_EQ(a["outputs"], json::parse(R"([{"name": "output", "datatype": "FP32",
                                           "shape": [-1, 4]}])"));
  EXPECT_EQ(a["parameters"]["classes"], json({"c0", "c1", "c2", "c3"}));
  const json b = json::parse(server.Get("/v2/models/b/versions/1"));
  EXPECT_EQ(b["inputs"][0]["shape"], json({-1, 3, 6, 5}));
  EXPECT_EQ(b["parameters"]["format"], "NCHW");
  const HttpResponse page = server.Ask(HttpGet("/"));
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(page.head, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(page.body, HasSubstr("<title>DTNN"));
  for (const char* elsewhere : {"http:", "https:", "src=\"", "@import", "@version@"}) {
    EXPECT_THAT(page.body, Not(HasSubstr(elsewhere)));
  }
  EXPECT_THAT(server.Get("/metrics"), HasSubstr("dtnn_model_version{model=\"b\"} 1\n"));
}

// In JSON and in bytes, in and out, on one connection.
TEST_F(ServeTest, InfersAsThePredictorDoes) {
  const std::string model = Model("net");
  const ServedProcess server({model});
  const Tensor x = Samples(3);
  const std::vector<double> expected = Outputs(model, x);
  HttpClient client(server.port());
  const json request = {{"id", "42"}, {"inputs", {Input(x)}}};
  const HttpResponse response =
      client.Ask(HttpPost("/v2/models/net/versions/1/infer", request.dump()));
  EXPECT_EQ(response.code, 200) << response.body;
  const json answer = json::parse(response.body);
  EXPECT_EQ(answer["id"], "42");
  EXPECT_EQ(answer["model_name"], "net");
  EXPECT_EQ(answer["model_version"], "1");
  EXPECT_EQ(answer["outputs"][0]["shape"], json({3, 4}));
  std::vector<double> data;
  for (const json& value : answer["outputs"][0]["data"]) {
    data.push_back(double(float(value.get<double>())));
  }
  EXPECT_EQ(data, expected);

  const std::string head =
      json{{"inputs",
            {{{"name", "input"},
              {"datatype", "FP32"},
              {"shape", {3, 6, 5, 3}},
              {"parameters", {{"binary_data_size", 3 * 90 * 4}}}}}},
           {"outputs", {{{"name", "output"}, {"parameters", {{"binary_data", true}}}}}}}
          .dump();
  const HttpResponse binary =
      client.Ask(HttpPost("/v2/models/net/infer", head + BytesOf(x),
                          StrCat("Inference-Header-Content-Length: ", head.size(), "\r\n")));
  EXPECT_EQ(binary.code, 200) << binary.body;
  constexpr std::string_view kLength = "Inference-Header-Content-Length: ";
  const size_t at = binary.head.find(kLength);
  ASSERT_NE(at, std::string::npos) << binary.head;
  const size_t json_bytes = size_t(std::atoll(binary.head.c_str() + at + kLength.size()));
  ASSERT_EQ(binary.body.size(), json_bytes + expected.size() * sizeof(float));
  for (size_t i = 0; i < expected.size(); ++i) {
    float value = 0;
    std::memcpy(&value, binary.body.data() + json_bytes + i * sizeof(float), sizeof(float));
    EXPECT_EQ(double(value), expected[i]);
  }
}

TEST_F(ServeTest, ClassifiesImagesAsPredictDoes) {
  const std::string model = Model("net");
  const ServedProcess server({model});
  auto predictor = *Predictor::Load(model);
  const std::vector<uint8_t> pixels = testing::SmoothPixels(9, 11, 3, 3);
  for (const std::vector<uint8_t>& file :
       {testing::EncodePng(9, 11, pixels), testing::EncodeJpeg(9, 11, pixels)}) {
    const std::string path = testing::WriteFile(folder_, "image", file);
    const Classification expected = (*predictor->Classify({path}))[0];
    const HttpResponse best = server.Ask(HttpPost("/classify", Text(file)));
    EXPECT_EQ(best.code, 200) << best.body;
    EXPECT_EQ(json::parse(best.body)["predictions"],
              json::parse(PredictionsJson(OutputKind::kClasses,
                                          BestPredictions(*predictor, expected.outputs, 1))));
    const json three =
        json::parse(server.Ask(HttpPost("/classify?top=3&model=net", Text(file))).body);
    ASSERT_EQ(three["predictions"].size(), 3);
    EXPECT_EQ(three["predictions"][0]["class"], expected.name);
    EXPECT_EQ(three["predictions"][0]["probability"], expected.probability);
    // The pixels themselves, as a tensor of bytes, are the same image.
    if (file[0] != 0x89) continue;
    const json tensor = {
        {"inputs",
         {{{"name", "input"}, {"datatype", "UINT8"}, {"shape", {1, 9, 11, 3}}, {"data", pixels}}}}};
    const json answer =
        json::parse(server.Ask(HttpPost("/v2/models/net/infer", tensor.dump())).body);
    EXPECT_EQ(float(answer["outputs"][0]["data"][size_t(expected.index)].get<double>()),
              float(expected.probability));
  }
}

TEST_F(ServeTest, WrongRequestsAreNamed) {
  const ServedProcess server({Model("net"), Model("b", 2)}, {"--max-body=1", "--max-queue=8"});
  const Tensor x = Samples(1);
  const auto with = [&](std::string_view member, json value) {
    json input = Input(x);
    input[std::string(member)] = std::move(value);
    return json{{"inputs", {input}}}.dump();
  };
  const std::string infer = "/v2/models/net/infer", good = json{{"inputs", {Input(x)}}}.dump();
  const std::string png = Text(testing::EncodePng(2, 2, std::vector<uint8_t>(12)));
  std::vector<double> large = Values(x);
  large[3] = 1e300;
  std::string hostile = Text(testing::EncodeJpeg(2, 2, std::vector<uint8_t>(12)));
  hostile.replace(hostile.find("\xff\xc0") + 5, 4, "\x17\x70\x17\x70");  // height and width
  struct Wrong {
    std::string request;
    int code;
    const char* said;
  };
  const Wrong kWrong[] = {
      {HttpGet("/x"), 404, "/x: unknown path"},
      {HttpGet("/v2/x"), 404, "unknown path"},
      {HttpGet("/v2/models/none"), 404, "unknown model \\\"none\\\"; expected one of: net, b"},
      {HttpGet("/v2/models/net/versions/2"), 404, "model net has version 1, not 2"},
      {HttpGet("/v2/models/net/x"), 404, "unknown path"},
      {HttpGet("/v2/models/net/versions/1/ready/x"), 404, "unknown path"},
      {HttpPost("/v2/models/net/x/infer", good), 404, "unknown path"},
      {HttpGet("/%00%0a%ff"), 404, "unknown path"},
      {HttpGet("/v2/models/%00"), 404, "unknown model"},
      {HttpPost("/v2/models/none/infer", good), 404, "unknown model"},
      {HttpPost("/v2/models/net/versions/9/infer", good), 404, "has version 1, not 9"},
      {HttpGet(infer), 405, "takes POST, not GET"},
      {HttpPost("/v2/models", good), 405, "takes GET, not POST"},
      {HttpPost(infer, ""), 400, "no valid JSON"},
      {HttpPost(infer, good.substr(0, 50)), 400, "no valid JSON"},
      {HttpPost(infer, "{\"inputs\": [NaN]}"), 400, "no valid JSON"},
      {HttpPost(infer, with("shape", {1, 5, 6, 3})), 400, "the model takes (n, 6, 5, 3)"},
      {HttpPost(infer, with("shape", {2, 6, 5, 3})), 400, "data has 90 values"},
      {HttpPost(infer, with("shape", {1L << 40, 1L << 40, 5, 3})), 400, "63 bits"},
      {HttpPost(infer, with("datatype", "INT64")), 400, "datatype INT64; the model takes FP32"},
      {HttpPost(infer, with("name", "x")), 400, "the model's input is \\\"input\\\""},
      {HttpPost(infer, with("data", large)), 400, "data[3] is 1e+300, which FP32 cannot hold"},
      {HttpPost(infer, json{{"inputs", {Input(Samples(9))}}}.dump()), 400,
       "has 9 samples; expected 1 to 8"},
      {HttpPost(infer, good, "Inference-Header-Content-Length: 99999999\r\n"), 400,
       "Inference-Header-Content-Length is \\\"99999999\\\""},
      {HttpPost(infer, good, "Inference-Header-Content-Length: -1\r\n"), 400, "expected at most"},
      {HttpPost(infer, good, "Inference-Header-Content-Length: 10\r\n"), 400, "no valid JSON"},
      {HttpPost(infer, good, "Content-Encoding: gzip\r\n"), 415, "not compressed"},
      {HttpPost(infer, std::string(1'000'001, '[')), 413, "limit of 1000000 bytes"},
      {HttpPost(infer, "{\"a\": " + std::string(999'000, '[')), 400, "deeper than 32"},
      {HttpPost("/classify", png), 400, "names no model"},
      {HttpPost("/classify?model=x", png), 404, "unknown model"},
      {HttpPost("/classify?model=net&tpo=3", png), 400, "unknown parameter \\\"tpo\\\"; expected"},
      {HttpPost("/classify?model=net&top=0", png), 400, "top=0; expected"},
      {HttpPost("/classify?model=net", ""), 400, "the image"},
      {HttpPost("/classify?model=net", "hello"), 400, "the image: "},
      {HttpPost("/classify?model=net", png.substr(0, 40)), 400, "the image: "},
      {HttpPost("/classify?model=net", hostile), 400, "6000 x 6000 pixels, more than"},
      {HttpPost("/classify?model=net", png, "Content-Type: multipart/form-data; boundary=x\r\n"),
       415, "--data-binary"},
      {HttpGet("/classify"), 405, "takes POST"},
  };
  HttpClient one(server.port());  // which stays open
  for (const Wrong& wrong : kWrong) {
    const HttpResponse own = server.Ask(wrong.request);
    EXPECT_EQ(own.code, wrong.code) << wrong.said << ": " << own.body;
    EXPECT_THAT(own.body, HasSubstr(wrong.said));
    EXPECT_TRUE(json::parse(own.body).contains("error")) << own.body;
    EXPECT_EQ(one.Ask(wrong.request).code, wrong.code) << wrong.said;
  }
  EXPECT_EQ(one.Ask(HttpPost(infer, good)).code, 200) << "all is well afterwards";
  EXPECT_THAT(server.Get("/metrics"), HasSubstr("dtnn_requests_total{model=\"net\",code=\"400\"}"));
}

TEST_F(ServeTest, NoMoreSamplesAreComputedTogetherThanItMay) {
  const ServedProcess server({Model("net")}, {"--max-batch=3"});
  const json request = {{"inputs", {Input(Samples(7))}}};
  ASSERT_EQ(server.Ask(HttpPost("/v2/models/net/infer", request.dump())).code, 200);
  const std::string metrics = server.Get("/metrics");
  EXPECT_THAT(metrics, HasSubstr("dtnn_batch_samples_bucket{model=\"net\",le=\"1\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("dtnn_batch_samples_count{model=\"net\"} 3\n"));
  EXPECT_THAT(metrics, HasSubstr("dtnn_batch_samples_sum{model=\"net\"} 7\n"));
}

TEST_F(ServeTest, LoadsModelsAgain) {
  const std::string model = Model("net", 1);
  ServedProcess server({model});
  const std::string request =
      HttpPost("/v2/models/net/infer", json{{"inputs", {Input(Samples(1))}}}.dump());
  HttpClient client(server.port());
  const std::string before = client.Ask(request).body;
  Model("net", 2, 5);
  server.Reload("net, version 2: ");
  EXPECT_THAT(server.process().text(),
              HasSubstr("serve: warning: model net has other shapes: samples of (6, 5, 3) before, "
                        "(6, 5, 3) now; outputs of (4,) before, (5,) now\n"));
  const std::string after = client.Ask(request).body;
  EXPECT_EQ(json::parse(after)["model_version"], "2");
  EXPECT_EQ(json::parse(after)["outputs"][0]["shape"], json({1, 5}));
  std::filesystem::resize_file(model, 50);
  server.Reload("model net stays at version 2");
  EXPECT_THAT(server.process().text(), HasSubstr("serve: warning: " + model));
  EXPECT_EQ(client.Ask(request).body, after);
  const std::string metrics = server.Get("/metrics");
  EXPECT_THAT(metrics, HasSubstr("dtnn_reloads_total{model=\"net\",result=\"failed\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("dtnn_reloads_total{model=\"net\",result=\"loaded\"} 1\n"));
  Model("net", 3, 5);
  server.Reload("net, version 3: ");
  const testing::Outcome end = server.Stop();
  EXPECT_EQ(end.exit_code, 0) << end.text;
  EXPECT_EQ(end.text.find("has other shapes"), end.text.rfind("has other shapes"));
}

TEST_F(ServeTest, LoadsNoModelsAgainAtItsEnd) {
  ServedProcess server({Model("net")});
  HttpClient half(server.port());
  half.Send("GET /v2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n");
  server.Get("/v2");  // after which the server knows of the other request
  for (const int signal : {SIGSTOP, SIGHUP, SIGTERM, SIGCONT}) server.process().Signal(signal);
  ASSERT_TRUE(server.process().ReadUntil("SIGTERM: answers what it has taken"));
  EXPECT_THAT(server.process().text(), Not(HasSubstr("version 2")));
  server.process().Signal(SIGHUP);
  EXPECT_EQ(half.Ask("1").code, 200);
  EXPECT_EQ(server.process().Wait().exit_code, 0);
}

TEST_F(ServeTest, ServesByTlsToThoseWithTheToken) {
  const auto write = [&](const char* name, const std::string& text) {
    EXPECT_TRUE(WritePrivateFile(folder_ + "/" + name, text).ok());
    return folder_ + "/" + name;
  };
  const Certificate authority = *MakeAuthority("authority");
  const Certificate host = *MakeHostCertificate(authority, {"localhost", "127.0.0.1"});
  const std::string trusted = write("ca.pem", authority.certificate);
  const std::string token = "0123456789abcdef";
  const std::string token_file = write("token", token + "\n");
  ServedProcess server({Model("net")}, {"--certificate=" + write("host.pem", host.certificate),
                                        "--key=" + write("host.key", host.key),
                                        "--token-file=" + token_file, "--listen=0.0.0.0"});
  const std::string bearer = StrCat("Authorization: Bearer ", token, "\r\n");
  const auto code = [&](const std::string& request) {
    return HttpClient(server.port(), trusted).Ask(request).code;
  };
  EXPECT_EQ(code(HttpGet("/v2/models/net", bearer)), 200);
  EXPECT_EQ(code(HttpGet("/v2/models/net")), 401);
  EXPECT_EQ(code(HttpGet("/metrics")), 401);
  EXPECT_EQ(code(HttpPost("/classify", "x", "Authorization: Bearer wrong\r\n")), 401);
  EXPECT_EQ(code(HttpGet("/v2/health/ready")), 200);
  EXPECT_EQ(code(HttpGet("/")), 200);
  EXPECT_EQ(server.Ask(HttpGet("/v2")).code, 0) << "without TLS";
  EXPECT_THAT(server.Stop().text, Not(HasSubstr(token)));
}

// Without a token, a page whose own name leads to 127.0.0.1 gets nothing.
TEST_F(ServeTest, ThisHostAloneIsAskedByItsOwnNames) {
  const auto code = [](ServedProcess& server, const std::string& host) {
    return server.Ask("GET /v2/models HTTP/1.1\r\nHost: " + host + "\r\n\r\n").code;
  };
  ServedProcess server({Model("net")}, {});
  EXPECT_EQ(code(server, "localhost:1"), 200);
  EXPECT_EQ(code(server, "127.0.0.1"), 200);
  EXPECT_EQ(code(server, "evil.example"), 421);
  EXPECT_EQ(code(server, "models.internal"), 421);
  ServedProcess more({Model("net")}, {"--allowed-hosts=models.internal,node1"});
  EXPECT_EQ(code(more, "models.internal:80"), 200);
  EXPECT_EQ(code(more, "node1"), 200);
  EXPECT_EQ(code(more, "evil.example"), 421);
  ASSERT_TRUE(WritePrivateFile(folder_ + "/host_token", "0123456789abcdef\n").ok());
  ServedProcess known({Model("net")}, {"--token-file=" + folder_ + "/host_token"});
  EXPECT_EQ(code(known, "evil.example"), 401) << "the token protects it";
}

TEST_F(ServeTest, WrongFlagsAreUsageErrors) {
  const std::string model = Model("net"), file = "--model-file=" + model;
  const std::string twin = testing::NewFolder("serve_twin") + "/net.npz";
  std::filesystem::copy_file(model, twin);
  const std::string short_token = folder_ + "/short";
  ASSERT_TRUE(WritePrivateFile(short_token, "0123456789abcde\n").ok());
  const std::string open_token = folder_ + "/open";
  ASSERT_TRUE(WritePrivateFile(open_token, "0123456789abcdef\n").ok());
  ASSERT_EQ(chmod(open_token.c_str(), 0644), 0);
  const std::string onnx = folder_ + "/net.onnx";
  ASSERT_TRUE(WritePrivateFile(onnx, "\x08\x08").ok());
  struct Wrong {
    std::string flags;
    int code;
    std::string said;
  };
  for (const Wrong& wrong : {
           Wrong{"", 2, "--model-file: missing"},
           Wrong{"--model-file=" + folder_ + "/none", 1, "none"},
           Wrong{"--model-file=" + onnx, 1, "is an ONNX model, by its name (a model is made"},
           Wrong{file + " --model-file=" + twin, 2, "has the same name, net"},
           Wrong{file + " --listen=0.0.0.0", 2, "--listen=0.0.0.0: other hosts can connect"},
           Wrong{file + " --listen=0.0.0.0 --token-file=" + open_token, 2, "other hosts"},
           Wrong{file + " --certificate=x", 2, "--certificate and --key: give both"},
           Wrong{file + " --certificate=no.pem --key=no.key", 1, "no.pem"},
           Wrong{file + " --token-file=" + short_token, 1, "token of 16 characters"},
           Wrong{file + " --token-file=" + open_token, 1, open_token},
           Wrong{file + " --listen=192.0.2.1 --allow-unprotected", 2,
                 "--listen=192.0.2.1 is not an address of this host"},
           Wrong{file + " --listen=nosuch.invalid", 2,
                 "--listen=nosuch.invalid is not an address of this host"},
           Wrong{file + " --max-queue=1000001", 2, "--max-queue=1000001"},
           Wrong{file + " --port=70000", 2, "--port=70000"},
           Wrong{file + " --math-mode=int8", 1, "has no ranges of values"},
           Wrong{file + " image.png", 2, "image.png"},
       }) {
    const testing::Outcome outcome = testing::Launch("apps/serve/serve", wrong.flags);
    EXPECT_EQ(outcome.exit_code, wrong.code) << wrong.flags << ": " << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(wrong.said)) << wrong.flags;
  }
  const Socket taken = *Listen({.host = "127.0.0.1"});
  const std::string port = StrCat(taken.Local()->port);
  EXPECT_THAT(testing::Launch("apps/serve/serve", file + " --port=" + port).text,
              HasSubstr("--port: cannot listen at 127.0.0.1:" + port));
  EXPECT_THAT(testing::Launch("apps/serve/serve", "--help").text, HasSubstr("--max-delay"));
}

}  // namespace
}  // namespace dtnn
