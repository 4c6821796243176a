// The program under load: callers that are cut, slow or many, models that are loaded again, and the
// end.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "apps/serve/testing/served_process.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/predictor.h"
#include "nlohmann/json.hpp"
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
using testing::ServedNet;
using testing::ServedProcess;
using testing::Values;

constexpr int kThreads = 4;

// A request, and what belongs into its answer.
struct Question {
  std::string request;
  std::vector<double> outputs;
};

Question Ask(const std::string& model, int64_t samples, uint64_t seed) {
  const Tensor x =
      testing::RandomTensor(DType::kFloat32, ServedNet().input_shape().Prepend(samples), seed);
  const json request = {{"inputs",
                         {{{"name", "input"},
                           {"datatype", "FP32"},
                           {"shape", x.shape().extents()},
                           {"data", Values(x)}}}}};
  return {HttpPost("/v2/models/net/infer", request.dump()),
          Values(*(*Predictor::Load(model))->Predict(x))};
}

std::vector<double> OutputsOf(const HttpResponse& response) {
  std::vector<double> outputs;
  const json answer = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (response.code != 200 || answer.is_discarded()) return outputs;
  for (const json& value : answer["outputs"][0]["data"]) {
    outputs.push_back(double(float(value.get<double>())));
  }
  return outputs;
}

size_t OpenFiles(pid_t pid) {
  const std::filesystem::directory_iterator files(StrCat("/proc/", pid, "/fd")), end;
  return size_t(std::distance(files, end));
}

int64_t ResidentKilobytes(pid_t pid) {
  std::ifstream status(StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

class ServeLoadTest : public ::testing::Test {
 protected:
  ServeLoadTest() { testing::SaveServed(model_, ServedNet(), 1); }

  const std::string folder_ = testing::NewFolder("serve_load");
  const std::string model_ = folder_ + "/net.safetensors";
};

// 10 000 requests in all. Whatever happens to others, a whole request gets its own answer.
TEST_F(ServeLoadTest, CutAndSlowCallersHurtNobody) {
  ServedProcess server({model_}, {"--timeout=0.5", "--max-connections=64", "--max-queue=100000"});
  const pid_t pid = server.process().pid();
  std::vector<Question> questions;
  for (uint64_t i = 0; i < 8; ++i) questions.push_back(Ask(model_, int64_t(i) * 5 + 1, i));
  std::atomic<int> wrong = 0;
  const auto load = [&](uint32_t seed, int requests) {
    std::mt19937 random(seed);
    std::vector<HttpClient> slow;  // which have sent a piece, and stay
    HttpClient kept(server.port());
    for (int i = 0; i < requests; ++i) {
      const Question& question = questions[random() % questions.size()];
      const std::string_view request = question.request;
      const size_t cut = random() % request.size();
      switch (random() % 8) {
        case 0: {  // cut in the midst of it
          HttpClient client(server.port());
          client.Send(request.substr(0, cut));
          if (random() % 2 == 0) client.Reset();
          break;
        }
        case 1: {  // gone before the answer
          HttpClient client(server.port());
          client.Send(request);
          if (random() % 2 == 0) client.Reset();
          break;
        }
        case 2: {  // noise
          HttpClient client(server.port());
          std::string noise(request.substr(0, 400));
          for (int n = 0; n < 5; ++n) noise[random() % noise.size()] = char(random());
          client.Send(noise);
          client.EndSending();
          break;
        }
        case 3:  // slow: a few of them at a time
          if (slow.size() == 8) slow.erase(slow.begin());
          slow.emplace_back(server.port());
          slow.back().Send(request.substr(0, cut));
          break;
        case 4: {  // in pieces
          HttpClient client(server.port());
          client.Send(request.substr(0, cut));
          client.Send(request.substr(cut));
          wrong += OutputsOf(client.Read()) != question.outputs;
          break;
        }
        case 5: {  // two at once
          HttpClient client(server.port());
          client.Send(StrCat(request, request));
          for (int n = 0; n < 2; ++n) wrong += OutputsOf(client.Read()) != question.outputs;
          break;
        }
        default: {  // one after another on one connection, which ends when it is idle for long
          HttpResponse response = kept.Ask(request);
          if (response.code == 0) {
            kept = HttpClient(server.port());
            response = kept.Ask(request);
          }
          wrong += OutputsOf(response) != question.outputs;
        }
      }
    }
  };
  const auto load_by_all = [&](uint32_t seed, int requests) {
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back(load, seed + t, requests / kThreads);
    }
    for (std::thread& thread : threads) thread.join();
  };
  const size_t files = OpenFiles(pid);
  load_by_all(100, 2000);
  [[maybe_unused]] const int64_t before = ResidentKilobytes(pid);
  load_by_all(200, 8000);
  EXPECT_EQ(wrong, 0);
  // Connections that were left end by themselves; each of these requests closes its own.
  size_t left = 0;
  for (int i = 0; i < 100'000; ++i) {
    server.Get("/v2/health/live");
    left = OpenFiles(pid);
    if (left <= files) break;
  }
  EXPECT_LE(left, files);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory, and finds leaks itself
  EXPECT_LT(ResidentKilobytes(pid) - before, 20'000) << "memory grows";
#endif
  EXPECT_THAT(server.Get("/metrics"), HasSubstr("dtnn_queued_samples{model=\"net\"} 0\n"));
  const testing::Outcome end = server.Stop();
  EXPECT_EQ(end.exit_code, 0) << end.text;
}

TEST_F(ServeLoadTest, ModelsAreLoadedAgainWithoutADroppedRequest) {
  ServedProcess server({model_});
  const Question old_question = Ask(model_, 3, 1);
  const std::string other = folder_ + "/other.safetensors";
  testing::SaveServed(other, ServedNet(), 2);
  const Question new_question = Ask(other, 3, 1);
  std::atomic<bool> end = false;
  std::atomic<int> before = 0, after = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      HttpClient client(server.port());
      while (!end) {
        const std::vector<double> outputs = OutputsOf(client.Ask(old_question.request));
        ++(outputs == old_question.outputs   ? before
           : outputs == new_question.outputs ? after
                                             : wrong);
      }
    });
  }
  while (before < 50) std::this_thread::yield();
  std::filesystem::rename(other, model_);
  for (int version = 2; version <= 6; ++version) {
    server.Reload(StrCat("version ", version, ":"));
    const int seen = after;
    while (after < seen + 50 && wrong == 0) std::this_thread::yield();
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(after, 250);
}

// Each connection gets whole answers until it is closed between two, and no caller waits.
TEST_F(ServeLoadTest, EndsAfterItsAnswers) {
  for (int round = 0; round < 5; ++round) {
    ServedProcess server({model_});
    const Question question = Ask(model_, 9, 1);
    std::atomic<int> answers = 0, wrong = 0, ended = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        HttpClient client(server.port());
        while (true) {
          const bool sent = client.Send(question.request);
          const HttpResponse response = client.Read();
          if (response.code == 0) {
            ++ended;
            return;
          }
          wrong += !sent || OutputsOf(response) != question.outputs;
          ++answers;
          if (response.head.find("Connection: close") != std::string::npos) {
            ++ended;
            return;
          }
        }
      });
    }
    while (answers < 40) std::this_thread::yield();
    const testing::Outcome end = server.Stop();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(end.exit_code, 0) << end.text;
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ended, kThreads);
  }
}

TEST_F(ServeLoadTest, EndsInTimeWhereCallersDoNot) {
  ServedProcess server({model_}, {"--stop-timeout=0.05"});
  HttpClient half(server.port());
  half.Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  server.Get("/v2");
  const testing::Outcome end = server.Stop();
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.text, HasSubstr("not all connections had ended"));
}

}  // namespace
}  // namespace dtnn
