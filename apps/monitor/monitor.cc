#include "apps/monitor/monitor.h"

#include <openssl/crypto.h>
#include <pthread.h>

#include <csignal>

#include "apps/monitor/listening.h"
#include "apps/monitor/metrics_text.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr char kFlags[] = "--metrics-", kPortFlag[] = "--metrics-port";

// A caller, by its address, must not keep out probes: those of a cluster come from elsewhere.
constexpr int kConnections = 128, kAddressConnections = 16;
// Requests have no body.
constexpr size_t kHeaderBytes = 1 << 14, kBodyBytes = 1 << 10;
constexpr std::chrono::seconds kPatience(10);

// Whatever stands in a page by mistake, a browser asks this program only.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

HttpAnswer HealthOf(const MonitorSource& source) {
  const absl::Status health = source.Health();
  if (!health.ok()) return HttpError(503, std::string(health.message()));
  return {.body = "{\"healthy\": true}\n"};
}

HttpAnswer AnswerTo(const HttpRequest& request, const MonitorSource& source) {
  if (request.method != "GET") {
    HttpAnswer answer = HttpError(
        405, StrCat(OneLine(request.path, 200), ": takes GET, not ", OneLine(request.method, 20)));
    answer.headers = {{"Allow", "GET"}};
    return answer;
  }
  if (request.path == "/healthz") return HealthOf(source);
  if (request.path == "/metrics") {
    return {.body = source.Metrics(), .type = std::string(MetricsText::kType)};
  }
  if (request.path == "/status.json") {
    return {.body = source.Status(), .headers = {{"Cache-Control", "no-store"}}};
  }
  if (request.path == "/") {
    std::string page = source.Page();
    if (!page.empty()) {
      return {
          .body = std::move(page),
          .type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy", kPolicy}, {"Referrer-Policy", "no-referrer"}}};
    }
  }
  return HttpError(404, StrCat(OneLine(request.path, 200),
                               ": unknown path; there are /healthz, /metrics and /status.json"));
}

// Threads that begin while it lives take no signals: those are the program's.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace

absl::Status Monitor::Check(const MonitorOptions& options, bool listens) {
  if (!options.port) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(HttpServerOptions server, ListeningAt(options, *options.port, kFlags));
  OPENSSL_cleanse(server.token.data(), server.token.size());
  if (!listens) return absl::OkStatus();
  return WithContext(Listen(server.address).status(), kPortFlag);
}

absl::StatusOr<std::unique_ptr<Monitor>> Monitor::Start(const MonitorOptions& options,
                                                        const MonitorSource& source) {
  if (!options.port) return nullptr;
  DTNN_ASSIGN_OR_RETURN(HttpServerOptions server, ListeningAt(options, *options.port, kFlags));
  server.open_paths = {"/", "/healthz"};
  server.connections = kConnections;
  server.address_connections = kAddressConnections;
  server.header_bytes = kHeaderBytes;
  server.body_bytes = kBodyBytes;
  server.all_body_bytes = kConnections * kBodyBytes;
  server.patience = kPatience;
  server.workers = 1;
  const WithoutSignals while_threads_begin;
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<HttpServer> started,
      WithContext(HttpServer::Start(std::move(server),
                                    [&source](HttpRequest& request, HttpReply reply) {
                                      reply.Send(AnswerTo(request, source));
                                    }),
                  kPortFlag));
  std::string url =
      StrCat("http", options.certificate.empty() ? "" : "s", "://", started->address().ToString());
  return std::unique_ptr<Monitor>(new Monitor(std::move(started), std::move(url)));
}

}  // namespace dtnn
