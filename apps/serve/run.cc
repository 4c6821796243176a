#include "apps/serve/run.h"

#include <openssl/crypto.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/flags/value.h"
#include "apps/program/other_file.h"
#include "apps/serve/metrics.h"
#include "apps/serve/routes.h"
#include "comm/http/http_server.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "comm/transport/tcp/socket.h"
#include "models/serving/served_model.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr size_t kLeastToken = 16, kMostToken = 4096;

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(int64_t(seconds * 1000));
}

// These signals wait for Receive() while an object of this class exists.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int Receive() const {
    int signal = 0;
    while (sigwait(&set_, &signal) != 0) {
    }
    return signal;
  }
  // From now on they end the process.
  void Release() const { pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }

 private:
  sigset_t set_ = {}, before_ = {};
};

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  if (path.empty()) return std::string();
  DTNN_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ReadPrivateFile(path, kMostToken));
  std::string token(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (printable && token.size() >= kLeastToken) return token;
  return InvalidArgument(path, ": expected a token of ", kLeastToken,
                         " characters or more, without spaces; openssl rand -hex 32 makes one");
}

absl::Status CheckAddress(const std::string& listen) {
  const absl::StatusOr<std::vector<SocketAddress>> addresses = Resolve({.host = listen});
  const bool own = addresses.ok() && std::ranges::any_of(*addresses, [](const auto& address) {
                     const auto* const at = reinterpret_cast<const sockaddr*>(&address.bytes);
                     const Socket socket(::socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
                     return bind(socket.descriptor(), at, address.size) == 0;
                   });
  if (own) return absl::OkStatus();
  return UsageError("--listen=", listen,
                    " is not an address of this host; expected one, or 0.0.0.0 for all of them");
}

absl::Status CheckProtection(const ServeOptions& options) {
  if (options.certificate.empty() != options.key.empty()) {
    return UsageError("--certificate and --key: give both, or neither");
  }
  if (IsLoopback(options.listen) || options.allow_unprotected) return absl::OkStatus();
  if (!options.certificate.empty() && !options.token_file.empty()) return absl::OkStatus();
  return UsageError("--listen=", options.listen,
                    ": other hosts can connect there; give --certificate, --key and --token-file, "
                    "or --allow-unprotected where something else protects it");
}

class Server {
 public:
  Server(const ServeOptions& options, std::ostream& out, std::ostream& errors)
      : options_(options), out_(out), errors_(errors) {}

  absl::Status Run() {
    if (options_.models.paths.empty()) {
      return UsageError("--model-file: missing; name the file of a trained model");
    }
    DTNN_RETURN_IF_ERROR(CheckAddress(options_.listen));
    DTNN_RETURN_IF_ERROR(CheckProtection(options_));
    DTNN_ASSIGN_OR_RETURN(std::string token, ReadToken(options_.token_file));
    const Signals signals;
    for (const std::string& path : options_.models.paths) DTNN_RETURN_IF_ERROR(LoadModel(path));
    const Routes routes(models_, metrics_, options_.max_queue);
    DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> server,
                          HttpServer::Start(ServerOptions(routes, std::move(token)),
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
        .batches = {.max_batch = options_.max_batch,
                    .max_delay = std::chrono::microseconds(int64_t(options_.max_delay * 1000)),
                    .max_queued = options_.max_queue,
                    .on_batch = [this,
                                 name](int64_t samples) { metrics_.CountBatch(name, samples); }},
        .predictor = {.math_mode = options_.math_mode == "bf16" ? MathMode::kBf16 : MathMode::kFp32,
                      .int8 = options_.math_mode == "int8"}};
    absl::StatusOr<std::unique_ptr<ServedModel>> served = ServedModel::Load(name, path, model);
    if (!served.ok()) {
      return NameOtherFile(served.status(), path, "serve", "a trained model (.npz, .safetensors)");
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

  // The names that requests may call this host by, where a page in a browser could otherwise send
  // some: without a token and for this host alone, and where names are given.
  std::optional<std::vector<std::string>> Hosts() const {
    const bool open = options_.token_file.empty() && IsLoopback(options_.listen);
    if (!open && options_.allowed_hosts.empty()) return std::nullopt;
    std::vector<std::string> hosts = {options_.listen};
    for (const std::string_view name : SplitList(options_.allowed_hosts)) hosts.emplace_back(name);
    return hosts;
  }

  HttpServerOptions ServerOptions(const Routes& routes, std::string token) const {
    const size_t body = size_t(options_.max_body) * 1'000'000;
    return {.address = {.host = options_.listen, .port = uint16_t(options_.port)},
            .certificate_file = options_.certificate,
            .key_file = options_.key,
            .token = std::move(token),
            .open_paths = Routes::OpenPaths(),
            .hosts = Hosts(),
            .connections = int(options_.max_connections),
            .address_connections = int(options_.address_connections),
            .body_bytes = body,
            .all_body_bytes = 16 * body,
            .patience = Milliseconds(options_.timeout),
            .workers = std::max(2, int(std::thread::hardware_concurrency())),
            .on_answer = [&routes](const HttpRequest& request, int code,
                                   std::chrono::duration<double> took) {
              routes.Count(request, code, took.count());
            }};
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
