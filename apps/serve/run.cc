#include "apps/serve/run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/monitor/listening.h"
#include "apps/program/other_file.h"
#include "apps/serve/metrics.h"
#include "apps/serve/routes.h"
#include "comm/http/http_server.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "comm/transport/tcp/socket.h"
#include "models/serving/served_model.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(int64_t(seconds * 1000));
}

// These signals wait for Receive() while an object of this class exists.
class Signals {
 public:
  Signals() {
    sigemptyset(&ends_);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&ends_, signal);
    set_ = ends_;
    sigaddset(&set_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // sigwait takes the smallest of those that wait, SIGHUP, so that many of them would put off the
  // end for ever.
  int Receive() const {
    int signal = 0;
    while (sigwait(&set_, &signal) != 0) {
    }
    const timespec now = {};
    const int end = signal == SIGHUP ? sigtimedwait(&ends_, nullptr, &now) : -1;
    return end > 0 ? end : signal;
  }
  // From now on SIGHUP does nothing, and the others end the process.
  void Release() const {
    std::signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
  }

 private:
  sigset_t ends_ = {}, set_ = {}, before_ = {};
};

class Server {
 public:
  Server(const ServeOptions& options, std::ostream& out, std::ostream& errors)
      : options_(options), out_(out), errors_(errors) {}

  absl::Status Run() {
    if (options_.models.paths.empty()) {
      return UsageError("--model-file: missing; name the file of a trained model");
    }
    DTNN_ASSIGN_OR_RETURN(HttpServerOptions listening, ListeningAt(options_, options_.port, "--"));
    DTNN_ASSIGN_OR_RETURN(Socket listener, WithContext(Listen(listening.address), "--port"));
    const Signals signals;
    for (const std::string& path : options_.models.paths) DTNN_RETURN_IF_ERROR(LoadModel(path));
    const Routes routes(models_, metrics_, options_.max_queue);
    listening.listener = listener.Release();
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> server,
                          HttpServer::Start(WithLimits(std::move(listening), routes),
                                            [&routes](HttpRequest& request, HttpReply reply) {
                                              routes.Answer(request, std::move(reply));
                                            }));
    out_ << "**** Listens at http" << (options_.certificate.empty() ? "" : "s") << "://"
         << server->address().ToString() << "\n"
         << std::flush;
    int signal = 0;
    while ((signal = signals.Receive()) == SIGHUP) Reload();
    signals.Release();
    out_ << "**** " << SignalName(signal) << ": answers what it has taken, then ends\n"
         << std::flush;
    if (server->Stop(Milliseconds(options_.stop_timeout))) return absl::OkStatus();
    return Unavailable("not all connections had ended ", options_.stop_timeout,
                       " seconds after the signal; the rest were cut");
  }

 private:
  absl::Status LoadModel(const std::string& path) {
    const std::string name = std::filesystem::path(path).stem().string();
    for (const auto& model : models_) {
      if (model->name() != name) continue;
      return UsageError("--model-file=", path, ": ", model->path(), " has the same name, ", name,
                        "; models are served under the names of their files");
    }
    ServedModelOptions model = {
        .batches = {
            .max_batch = options_.max_batch,
            .max_delay = std::chrono::microseconds(int64_t(options_.max_delay * 1000)),
            .max_queued = options_.max_queue,
            .on_batch = [this, name](int64_t samples) { metrics_.CountBatch(name, samples); }}};
    SetMathMode(options_.math_mode, model.predictor);
    absl::StatusOr<std::unique_ptr<ServedModel>> served = ServedModel::Load(name, path, model);
    if (!served.ok()) {
      return WithContext(
          NameOtherFile(served.status(), path, "serve", "a trained model (.npz, .safetensors)"),
          "--model-file");
    }
    Announce(**served);
    models_.push_back(*std::move(served));
    return absl::OkStatus();
  }

  void Announce(const ServedModel& model) {
    const std::shared_ptr<ServedModel::Version> current = model.current();
    const Predictor& predictor = *current->predictor;
    for (const std::string& warning : predictor.warnings()) Warn(warning);
    const Graph& graph = predictor.model().graph;
    out_ << "**** " << OneLine(model.name()) << ", version " << current->number << ": "
         << OneLine(graph.name()) << ", samples of " << graph.input_shape().ToString() << ", "
         << graph.output_shape().NumElements() << " outputs\n"
         << std::flush;
  }

  // Those of a sample and its outputs.
  static std::pair<Shape, Shape> ShapesOf(const ServedModel& model) {
    const std::shared_ptr<ServedModel::Version> current = model.current();
    const Graph& graph = current->predictor->model().graph;
    return {graph.input_shape(), graph.output_shape()};
  }

  void Reload() {
    for (const auto& model : models_) {
      const auto [input, output] = ShapesOf(*model);
      const absl::Status status = model->Reload();
      metrics_.CountReload(model->name(), status.ok());
      if (status.ok()) {
        const auto [new_input, new_output] = ShapesOf(*model);
        if (new_input != input || new_output != output) {
          Warn(StrCat("model ", model->name(), " has other shapes: samples of ", input.ToString(),
                      " before, ", new_input.ToString(), " now; outputs of ", output.ToString(),
                      " before, ", new_output.ToString(), " now"));
        }
        Announce(*model);
      } else {
        Warn(StrCat(status.message(), "; model ", model->name(), " stays at version ",
                    model->current()->number));
      }
    }
  }

  void Warn(std::string_view line) {
    errors_ << "serve: warning: " << OneLine(line) << "\n" << std::flush;
  }

  HttpServerOptions WithLimits(HttpServerOptions server, const Routes& routes) const {
    const size_t body = size_t(options_.max_body) * 1'000'000;
    server.open_paths = Routes::OpenPaths();
    server.connections = int(options_.max_connections);
    server.address_connections = int(options_.address_connections);
    server.body_bytes = body;
    server.all_body_bytes = 16 * body;
    server.patience = Milliseconds(options_.timeout);
    server.workers = std::max(2, int(std::thread::hardware_concurrency()));
    server.brief = &Routes::Brief;
    server.on_answer = [&routes](const HttpRequest& request, int code,
                                 std::chrono::duration<double> took) {
      routes.Count(request, code, took.count());
    };
    return server;
  }

  const ServeOptions& options_;
  std::ostream &out_, &errors_;
  Metrics metrics_;
  std::vector<std::unique_ptr<ServedModel>> models_;
};

}  // namespace

absl::Status Serve(const ServeOptions& options, std::ostream& out, std::ostream& errors) {
  return Server(options, out, errors).Run();
}

}  // namespace dtnn
