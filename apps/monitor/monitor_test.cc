#include "apps/monitor/monitor.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "comm/http/testing/http_client.h"
#include "comm/transport/tcp/socket.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::HttpClient;
using testing::HttpGet;
using testing::HttpPost;
using testing::HttpResponse;

struct Source : MonitorSource {
  absl::Status Health() const override {
    return healthy ? absl::OkStatus() : Unavailable("sleeps for 7 \"seconds\"");
  }
  std::string Metrics() const override { return "m 1\n"; }
  std::string Status() const override { return "{}"; }
  std::string Page() const override { return page; }

  std::atomic<bool> healthy = true;
  std::string page;
};

class MonitorTest : public ::testing::Test {
 protected:
  uint16_t Start(MonitorOptions options = {}) {
    options.port = 0;
    monitor_ = Must(Monitor::Start(options, source_));
    const std::string& url = monitor_->url();
    return uint16_t(std::atoi(url.substr(url.rfind(':') + 1).c_str()));
  }
  static HttpResponse Get(uint16_t port, std::string_view path, std::string_view headers = {}) {
    return HttpClient(port).Ask(HttpGet(path, headers));
  }

  Source source_;
  std::unique_ptr<Monitor> monitor_;
};

TEST_F(MonitorTest, IsNotThereWithoutAPort) {
  EXPECT_EQ(Must(Monitor::Start({}, source_)), nullptr);
}

TEST_F(MonitorTest, TellsWhatItsSourceSays) {
  const uint16_t port = Start();
  EXPECT_THAT(monitor_->url(), ::testing::StartsWith("http://127.0.0.1:"));
  const HttpResponse metrics = Get(port, "/metrics");
  EXPECT_EQ(metrics.code, 200);
  EXPECT_EQ(metrics.body, "m 1\n");
  EXPECT_THAT(metrics.head, HasSubstr("Content-Type: text/plain; version=0.0.4\r\n"));
  EXPECT_EQ(Get(port, "/status.json").body, "{}");
  EXPECT_EQ(Get(port, "/healthz").code, 200);
  source_.healthy = false;
  const HttpResponse sick = Get(port, "/healthz");
  EXPECT_EQ(sick.code, 503);
  EXPECT_EQ(nlohmann::json::parse(sick.body)["error"], "sleeps for 7 \"seconds\"");
}

TEST_F(MonitorTest, OtherRequestsAreErrors) {
  const uint16_t port = Start();
  EXPECT_EQ(Get(port, "/").code, 404) << "there is no page";
  EXPECT_EQ(Get(port, "/metrics/../etc/passwd").code, 404);
  EXPECT_EQ(HttpClient(port).Ask(HttpPost("/metrics", "")).code, 405);
  EXPECT_EQ(HttpClient(port).Ask(HttpPost("/metrics", std::string(5000, 'x'))).code, 413);
  EXPECT_EQ(Get(port, "/metrics", "X: " + std::string(40'000, 'x') + "\r\n").code, 431);
  monitor_.reset();
  source_.page = "<p>page</p>";
  const HttpResponse page = Get(Start(), "/");
  EXPECT_EQ(page.body, "<p>page</p>");
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
}

TEST_F(MonitorTest, ATokenProtectsAllButProbesAndThePage) {
  source_.page = "page";
  const std::string file = testing::NewFolder("monitor") + "/token";
  ASSERT_TRUE(WritePrivateFile(file, "0123456789abcdef\n").ok());
  MonitorOptions options;
  options.token_file = file;
  const uint16_t port = Start(options);
  for (const char* path : {"/metrics", "/status.json"}) {
    EXPECT_EQ(Get(port, path).code, 401) << path;
    EXPECT_EQ(Get(port, path, "Authorization: Bearer 0123456789abcdef\r\n").code, 200) << path;
  }
  EXPECT_EQ(Get(port, "/healthz").code, 200);
  EXPECT_EQ(Get(port, "/").code, 200);
}

// A page of elsewhere, whose name leads to 127.0.0.1.
TEST_F(MonitorTest, AnswersToItsOwnNamesOnly) {
  const auto code = [](uint16_t port, const std::string& host) {
    return HttpClient(port).Ask("GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n").code;
  };
  uint16_t port = Start();
  EXPECT_EQ(code(port, "localhost"), 200);
  EXPECT_EQ(code(port, "evil.example"), 421);
  MonitorOptions options;
  options.allowed_hosts = "node1.internal";
  port = Start(options);
  EXPECT_EQ(code(port, "node1.internal:9100"), 200);
  EXPECT_EQ(code(port, "evil.example"), 421);
}

// While some send something else, half a request, or nothing, and one reads no answer, others are
// answered.
TEST_F(MonitorTest, SlowAndBrokenCallersDelayNoOther) {
  source_.page = std::string(32 << 20, 'p');
  const uint16_t port = Start();
  std::vector<HttpClient> callers;
  for (const char* bytes :
       {"", "GET /met", "\x16\x03\x01\x02", "GET /metrics HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nHo",
        "\0\0\0", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"}) {
    callers.emplace_back(port);
    ASSERT_TRUE(callers.back().Send(bytes));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Get(port, "/metrics").body, "m 1\n");
  monitor_.reset();  // ends in spite of them
}

// From 127.0.0.2, the code of the answer to a probe.
std::string ProbeFromElsewhere(uint16_t port) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience = {.tv_sec = 60, .tv_usec = 0};
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in own = {}, other = {};
  own.sin_family = other.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  other.sin_port = htons(port);
  EXPECT_EQ(bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
  EXPECT_EQ(connect(socket.descriptor(), reinterpret_cast<sockaddr*>(&other), sizeof(other)), 0);
  const std::string request = HttpGet("/healthz");
  EXPECT_EQ(send(socket.descriptor(), request.data(), request.size(), MSG_NOSIGNAL),
            ssize_t(request.size()));
  char answer[12] = {};
  recv(socket.descriptor(), answer, sizeof(answer), MSG_WAITALL);
  return {answer, sizeof(answer)};
}

// They hold the places of their address, and others are closed: all places would be gone.
TEST_F(MonitorTest, SilentCallersOfOneAddressDoNotKeepOutProbes) {
  const uint16_t port = Start();
  std::vector<HttpClient> callers;
  for (int i = 0; i < 200; ++i) callers.emplace_back(port);
  EXPECT_EQ(ProbeFromElsewhere(port), "HTTP/1.1 200");
}

TEST_F(MonitorTest, AnElasticRankDoesNotAskForThePort) {
  MonitorOptions options;
  options.port = Start();
  EXPECT_FALSE(Monitor::Check(options).ok());
  EXPECT_TRUE(Monitor::Check(options, /*listens=*/false).ok());
}

TEST_F(MonitorTest, ErrorsNameTheFlags) {
  MonitorOptions options;
  options.port = Start();
  const auto error = [this](const MonitorOptions& wrong) {
    const std::string message(Monitor::Start(wrong, source_).status().message());
    EXPECT_EQ(Monitor::Check(wrong).message(), message);
    return message;
  };
  EXPECT_THAT(error(options),
              ::testing::AllOf(::testing::StartsWith("--metrics-port: "),
                               HasSubstr("127.0.0.1:" + std::to_string(*options.port))));
  options.port = 0;
  options.listen = "0.0.0.0";
  EXPECT_EQ(
      error(options),
      "--metrics-listen=0.0.0.0: other hosts can connect there; give --metrics-certificate, "
      "--metrics-key and --metrics-token-file, or --metrics-allow-unprotected where something "
      "else protects it");
  options.allow_unprotected = true;
  EXPECT_EQ(error(options), "");
  options.listen = "203.0.113.1";
  EXPECT_EQ(error(options),
            "--metrics-listen=203.0.113.1 is not an address of this host; expected one, or 0.0.0.0 "
            "for all of them");
  options.listen = "127.0.0.1";
  options.key = "k";
  EXPECT_EQ(error(options), "--metrics-certificate and --metrics-key: give both, or neither");
}

}  // namespace
}  // namespace dtnn
