#include "comm/transport/mqtt/testing/test_broker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "comm/transport/mqtt/mqtt_datagrams.h"
#include "comm/transport/relay/relay_mesh.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tls/testing/host_files.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/status_macros.h"

namespace dtnn::testing {
namespace {

constexpr char kProgram[] = "/usr/sbin/mosquitto";

bool Listens(uint16_t port) {
  const auto addresses = Must(Resolve({.host = "127.0.0.1", .port = port}));
  const absl::StatusOr<Socket> socket = StartConnecting(addresses.front());
  if (!socket.ok()) return false;
  pollfd descriptor = {socket->descriptor(), POLLOUT, 0};
  poll(&descriptor, 1, 1000);
  return ConnectingError(*socket).ok();
}

}  // namespace

bool HasBroker() { return access(kProgram, X_OK) == 0; }

TestBroker::TestBroker(const std::string& folder, const std::string& settings) {
  {
    const Socket free = Must(Listen({.host = "127.0.0.1", .port = 0}));
    port_ = Must(free.Local()).port;
  }
  configuration_ = ::testing::TempDir() + "/broker" + std::to_string(port_) + ".conf";
  std::ofstream file(configuration_);
  file << "listener " << port_ << " 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
       << "log_type none\npersistence false\n";
  if (geteuid() == 0) file << "user root\n";
  if (!folder.empty()) {
    const TlsFiles files = HostFiles(folder);
    file << "cafile " << files.authority << "\ncertfile " << files.certificate << "\nkeyfile "
         << files.key << "\nrequire_certificate true\n";
  }
  file << settings;
  file.close();
  Start();
}

void TestBroker::Start() {
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execl(kProgram, kProgram, "-c", configuration_.c_str(), nullptr);
    _exit(127);
  }
  while (!Listens(port_)) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      ADD_FAILURE() << "mosquitto does not start with " << configuration_;
      pid_ = -1;
      return;
    }
    usleep(10'000);
  }
}

void TestBroker::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, -1), nullptr, 0);
}

Join JoinByMqtt(uint16_t port, const std::string& folder) {
  return [port, folder](const CommunicatorOptions& options)
             -> absl::StatusOr<std::unique_ptr<ExchangeProcess>> {
    const JobEnvironment job = JobOfRank();
    MqttOptions mqtt = {.broker = {.host = "127.0.0.1", .port = port}};
    if (!folder.empty()) {
      const TlsFiles files = HostFiles(folder);
      mqtt.tls = {.authority = files.authority, .certificate = files.certificate, .key = files.key};
    }
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Datagrams> datagrams,
                          MakeMqttDatagrams(mqtt, job.secret));
    DTNN_ASSIGN_OR_RETURN(Mesh mesh, MeetThrough(std::move(datagrams), job.rendezvous.rank,
                                                 job.rendezvous.size, job.secret, options));
    return std::make_unique<ExchangeProcess>(options, std::move(mesh));
  };
}

}  // namespace dtnn::testing
