// bazel build -c opt //bench:serving //apps/serve && bazel-bin/bench/serving --help
//
// The server of models (apps/serve) under load, on this machine: samples/s of callers that ask
// again at once, as a share of the predictor's own in the same run, the two in turns; the same in
// processor time, of the server alone, which callers and other programs on the same cores change
// less; and how long requests take at half of that load, from the moment when each should have been
// sent. Requests are binary tensors of FP32. Prints a row of a table per network and size of
// requests.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/help/tool_help.h"
#include "apps/program/run_program.h"
#include "apps/testing/process.h"
#include "comm/http/testing/http_client.h"
#include "kernels/device/context.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/predictor.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {
    .name = "serving",
    .does = "measures the server of models",
    .text = "serving [--models=a,b] ...\n\nMeasures the server of models."};

using Clock = std::chrono::steady_clock;
using testing::HttpClient;

struct ServingOptions {
  std::string server = "bazel-bin/apps/serve/serve";
  std::string models = "simplecnn8,resnet20,resnet50";
  std::string math_mode = "fp32";
  std::vector<int64_t> samples = {32, 1};
  std::vector<int64_t> connections = {4, 64};
  int64_t batch = 32, rounds = 3;
  double seconds = 1;
};

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// That a process has used so far; 0: this one.
double ProcessorSeconds(pid_t process) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) == 0) clock_gettime(clock, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

std::string Save(const std::string& name) {
  const absl::StatusOr<Graph> graph = BuildModel(name, {});
  if (!graph.ok()) return "";
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(*graph, *device, DType::kFloat32, 1);
  const std::string path = std::filesystem::temp_directory_path() / (name + ".safetensors");
  return SaveModel(path, {.graph = *graph}, *store, *device).ok() ? path : "";
}

// Samples without a pattern.
absl::StatusOr<Tensor> Noise(const Predictor& predictor, int64_t samples) {
  DTNN_ASSIGN_OR_RETURN(Tensor x, predictor.NewSamples(samples));
  uint32_t state = 1;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    state = state * 1664525U + 1013904223U;
    x.data<float>()[i] = float(state >> 8) / float(1 << 24);
  }
  return x;
}

std::string RequestOf(const std::string& model, const Tensor& x) {
  const size_t bytes = size_t(x.num_elements()) * sizeof(float);
  std::string shape;
  for (const int64_t extent : x.shape().extents()) {
    shape += StrCat(shape.empty() ? "" : ", ", extent);
  }
  const std::string head =
      StrCat("{\"inputs\": [{\"name\": \"input\", \"datatype\": \"FP32\", \"shape\": [", shape,
             "], \"parameters\": {\"binary_data_size\": ", bytes,
             "}}], \"parameters\": {\"binary_data_output\": true}}");
  std::string body = head;
  body.append(reinterpret_cast<const char*>(x.raw_data()), bytes);
  return testing::HttpPost(StrCat("/v2/models/", model, "/infer"), body,
                           StrCat("Inference-Header-Content-Length: ", head.size(), "\r\n"));
}

// Samples per second, and per second of processor time.
struct Speed {
  double elapsed = 0, processor = 0;
};

Speed PredictorSpeed(Predictor& predictor, const Tensor& x, double seconds) {
  const Clock::time_point begin = Clock::now();
  const double used = ProcessorSeconds(0);
  int64_t samples = 0;
  do {
    if (!predictor.Predict(x).ok()) return {};
    samples += x.shape()[0];
  } while (Seconds(Clock::now() - begin) < seconds);
  return {double(samples) / Seconds(Clock::now() - begin),
          double(samples) / (ProcessorSeconds(0) - used)};
}

struct Load {
  pid_t server;
  uint16_t port;
  const std::string& request;
  int64_t connections;
  double seconds;
};

// Requests instead of samples, of callers that ask again at once. 0: one was refused.
Speed ClosedLoop(const Load& load) {
  std::vector<std::thread> threads;
  std::atomic<int64_t> answers = 0, refused = 0;
  const Clock::time_point begin = Clock::now();
  const double used = ProcessorSeconds(load.server);
  for (int64_t t = 0; t < load.connections; ++t) {
    threads.emplace_back([&] {
      HttpClient client(load.port);
      while (Seconds(Clock::now() - begin) < load.seconds) {
        ++(client.Ask(load.request).code == 200 ? answers : refused);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (refused > 0) return {};
  return {double(answers) / Seconds(Clock::now() - begin),
          double(answers) / (ProcessorSeconds(load.server) - used)};
}

// Sorted milliseconds of requests, at that many per second in all, evenly.
std::vector<double> OpenLoop(const Load& load, double rate) {
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> times(size_t(load.connections));
  const Clock::time_point begin = Clock::now();
  for (int64_t t = 0; t < load.connections; ++t) {
    threads.emplace_back([&, t] {
      HttpClient client(load.port);
      for (int64_t i = t; double(i) / rate < load.seconds; i += load.connections) {
        const auto due = begin + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(double(i) / rate));
        std::this_thread::sleep_until(due);
        if (client.Ask(load.request).code != 200) return;
        times[size_t(t)].push_back(1e3 * Seconds(Clock::now() - due));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const auto& own : times) all.insert(all.end(), own.begin(), own.end());
  std::ranges::sort(all);
  return all;
}

absl::Status Measure(const ServingOptions& options, const std::string& name) {
  const std::string path = Save(name);
  if (path.empty()) return InvalidArgument("--models=", name, ": cannot be saved");
  const bool bf16 = options.math_mode == "bf16";
  DTNN_ASSIGN_OR_RETURN(
      const auto predictor,
      Predictor::Load(
          path, {.batch = options.batch, .math_mode = bf16 ? MathMode::kBf16 : MathMode::kFp32}));
  testing::Process server(options.server,
                          {"--model-file=" + path, "--port=0", "--math-mode=" + options.math_mode,
                           StrCat("--max-batch=", options.batch), "--max-queue=100000"});
  if (!server.ReadUntil("Listens at http")) {
    return InvalidArgument("--server=", options.server, ": ", server.text());
  }
  const auto port = uint16_t(std::atoi(server.text().c_str() + server.text().rfind(':') + 1));
  DTNN_ASSIGN_OR_RETURN(const Tensor whole, Noise(*predictor, options.batch));
  for (size_t i = 0; i < options.samples.size(); ++i) {
    const int64_t samples = options.samples[i];
    const int64_t connections = options.connections[std::min(i, options.connections.size() - 1)];
    DTNN_ASSIGN_OR_RETURN(const Tensor x, Noise(*predictor, samples));
    const std::string request = RequestOf(name, x);
    const Load load = {server.pid(), port, request, connections, options.seconds};
    ClosedLoop({server.pid(), port, request, connections, options.seconds / 4});  // warms up
    std::vector<std::pair<double, double>> rounds;  // share, samples/s
    std::vector<double> of_processor;               // the same share in processor time
    double own = 0, requests = 0;
    for (int64_t round = 0; round < options.rounds; ++round) {
      const Speed predicted = PredictorSpeed(*predictor, whole, options.seconds);
      const Speed served = ClosedLoop(load);
      if (served.elapsed == 0) return absl::InternalError("a request was refused");
      own = std::max(own, predicted.elapsed);
      requests = std::max(requests, served.elapsed);
      rounds.emplace_back(served.elapsed * double(samples) / predicted.elapsed,
                          served.elapsed * double(samples));
      of_processor.push_back(served.processor * double(samples) / predicted.processor);
    }
    std::ranges::sort(rounds);
    std::ranges::sort(of_processor);
    const std::vector<double> times =
        OpenLoop({server.pid(), port, request, connections, 2 * options.seconds}, requests / 2);
    if (times.empty()) return absl::InternalError("no answers at half load");
    std::printf("| %s | %s | %d | %d | %.0f | %.0f | %.0f %% | %.0f %% | %.1f | %.1f |\n",
                name.c_str(), options.math_mode.c_str(), int(samples), int(connections), own,
                rounds[rounds.size() / 2].second, 100 * rounds[rounds.size() / 2].first,
                100 * of_processor[of_processor.size() / 2], times[times.size() / 2],
                times[times.size() * 99 / 100]);
    std::fflush(stdout);
  }
  server.Signal(SIGTERM);
  server.Wait();
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  using enum OptionType;
  ServingOptions options;
  constexpr Range kSeconds = {.low = 0.01, .high = 1000};
  const std::vector<OptionSpec> flags = {
      {.name = "server", .type = kPath, .help = "the program serve", .field = &options.server},
      {.name = "models", .type = kText, .help = "networks of the zoo", .field = &options.models},
      {.name = "math-mode",
       .type = kWord,
       .help = "number types to compute with",
       .words = "fp32,bf16",
       .field = &options.math_mode},
      {.name = "samples",
       .type = kInts,
       .help = "samples of a request, one size after another",
       .unit = "samples",
       .range = kCountFrom1,
       .field = &options.samples},
      {.name = "connections",
       .type = kInts,
       .help = "connections at a time, for each of those sizes",
       .unit = "connections",
       .range = kCountFrom1,
       .field = &options.connections},
      {.name = "rounds",
       .type = kInt,
       .help = "how often predictor and server take turns",
       .unit = "rounds",
       .range = kCountFrom1,
       .field = &options.rounds},
      {.name = "seconds",
       .type = kReal,
       .help = "how long each turn lasts",
       .unit = "seconds",
       .range = kSeconds,
       .field = &options.seconds}};
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
    return absl::OkStatus();
  }
  std::cout
      << "| network | math mode | samples per request | connections | predictor, samples/s | "
         "served, samples/s | share | share of processor time | p50 at half load, ms | p99 |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
      << std::flush;
  const std::vector<std::string> names = absl::StrSplit(options.models, ',');
  for (const std::string& name : names) {
    DTNN_RETURN_IF_ERROR(Measure(options, name));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("serving", argc, argv, "use smaller networks", dtnn::Run);
}
