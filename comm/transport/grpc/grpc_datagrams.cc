#include "comm/transport/grpc/grpc_datagrams.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "comm/transport/grpc/envelope_queue.h"
#include "comm/transport/grpc/grpc_caller.h"
#include "comm/transport/grpc/switchboard.h"
#include "comm/wait.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

using Clock = Wait::Clock;
using std::chrono::milliseconds;

constexpr int64_t kMostPemBytes = 1 << 20;
// Between two attempts to join.
constexpr milliseconds kPauseFirst(10), kPauseLast(250);

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostPemBytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

struct Pems {
  std::string certificate, key, authority;
  std::string server;  // what its certificate must be for
};

absl::StatusOr<Pems> ReadPems(const TlsFiles& files, const std::string& server) {
  Pems pems;
  // gRPC would not say what is wrong with them.
  DTNN_ASSIGN_OR_RETURN(pems.server, ExpectedName(files, server));
  DTNN_ASSIGN_OR_RETURN(pems.certificate, ReadPem(files.certificate));
  DTNN_ASSIGN_OR_RETURN(pems.key, ReadPem(files.key));
  DTNN_ASSIGN_OR_RETURN(pems.authority, ReadPem(files.authority));
  return pems;
}

std::shared_ptr<grpc::ServerCredentials> ServerSide(const std::optional<Pems>& pems) {
  if (!pems) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pems->authority;
  options.pem_key_cert_pairs.push_back({pems->key, pems->certificate});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> CallersSide(const std::optional<Pems>& pems) {
  if (!pems) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pems->authority;
  options.pem_private_key = pems->key;
  options.pem_cert_chain = pems->certificate;
  return grpc::SslCredentials(options);
}

// Errors are statuses; gRPC's own lines are only for users who ask for them.
void KeepGrpcQuiet() {
  static const bool done = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)done;
}

// Each user of gRPC has one; the last one waits until gRPC has ended. It closes connections on
// threads of its own, even when all objects that were made of it are gone: a process that leaves
// main meanwhile takes OpenSSL and static objects from under them, and crashes now and then.
class GrpcUse {
 public:
  GrpcUse() { ++users; }
  ~GrpcUse() {
    if (--users > 0) return;
    const Clock::time_point end = Clock::now() + kLongest;
    while (users == 0 && grpc_is_initialized() != 0 && Clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  GrpcUse(const GrpcUse&) = delete;
  GrpcUse& operator=(const GrpcUse&) = delete;

 private:
  static constexpr std::chrono::seconds kLongest{5};
  static inline std::atomic<int> users = 0;
};

class GrpcDatagrams : public Datagrams {
 public:
  GrpcDatagrams(const GrpcOptions& options, const JobSecret& secret, std::optional<Pems> pems)
      : options_(options), secret_(secret), pems_(std::move(pems)) {}

  absl::Status Open(const Instance& me, Handlers handlers,
                    const CommunicatorOptions& patience) override {
    KeepGrpcQuiet();
    if (me.rank > 0) return Join(me, handlers, patience);
    absl::StatusOr<Socket> listener =
        options_.listener >= 0 ? AdoptListener(options_.listener) : Listen(options_.address);
    DTNN_RETURN_IF_ERROR(listener.status());
    // Those that call at once are answered by Send while this still listens.
    board_ = std::make_unique<Switchboard>(
        *std::move(listener), secret_, me,
        SwitchboardOptions{.size = options_.size, .only_with_rank_0 = options_.only_with_rank_0},
        std::move(handlers));
    return board_->Listen(ServerSide(pems_));
  }
  void Send(int to, std::string bytes) override {
    if (board_ != nullptr) return board_->Send(to, std::move(bytes));
    caller_->Send(to, std::move(bytes));
  }
  bool Flush(Clock::time_point until) override {
    if (board_ != nullptr) return board_->Flush(until);
    return caller_ == nullptr || caller_->Flush(until);
  }
  std::string name() const override { return "gRPC at " + options_.address.ToString(); }
  size_t window() const override { return kGrpcWindow; }

 private:
  std::shared_ptr<grpc::Channel> MakeChannel() const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(int(kMostBytes) + 1024);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Each attempt is a connection of its own.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (pems_ && pems_->server != options_.address.host) {
      arguments.SetSslTargetNameOverride(pems_->server);
    }
    return grpc::CreateCustomChannel(options_.address.ToString(), CallersSide(pems_), arguments);
  }
  absl::Status Join(const Instance& me, const Handlers& handlers,
                    const CommunicatorOptions& options);

  const GrpcUse use_;  // the last to go
  const GrpcOptions options_;
  const JobSecret secret_;
  const std::optional<Pems> pems_;
  std::unique_ptr<Switchboard> board_;  // of rank 0
  std::unique_ptr<GrpcCaller> caller_;  // of the others
};

absl::Status GrpcDatagrams::Join(const Instance& me, const Handlers& handlers,
                                 const CommunicatorOptions& options) {
  Wait wait(options);
  const std::string self = options_.self.empty() ? StrCat("rank ", me.rank) : options_.self;
  const std::string server = StrCat(options_.server.empty() ? "rank 0" : options_.server, " at ",
                                    options_.address.ToString());
  std::string refused;
  const auto text = [&] {
    return Wait::Text{
        .who = self,
        .what = StrCat(server, " to answer"),
        .trouble = refused.empty() ? "" : StrCat("refused: ", refused),
        .advice = StrCat("is it running, with the same address and port, ",
                         // Why a connection with TLS fails gRPC hardly says.
                         pems_ ? "with TLS and a certificate of the same authority that is valid "
                                 "now and for that name, "
                               : "without TLS (else set PYMPI_SSL=yes), ",
                         "and does no firewall stop it?")};
  };
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    caller_ =
        std::make_unique<GrpcCaller>(MakeChannel(), server, secret_, me,
                                     options_.only_with_rank_0 ? 1 : options_.size - 1, handlers);
    caller_->Begin();
    std::optional<absl::Status> joined;
    DTNN_RETURN_IF_ERROR(wait.For(text, [&](Clock::time_point until) {
      joined = caller_->AwaitJoined(until);
      return joined.has_value();
    }));
    if (joined->ok()) return absl::OkStatus();
    if (!absl::IsUnavailable(*joined) && !absl::IsCancelled(*joined)) {
      return WithContext(*joined, self, " cannot join ", server);
    }
    refused = std::string(joined->message());
    caller_ = nullptr;
    DTNN_RETURN_IF_ERROR(wait.Pause(pause, text));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Datagrams>> MakeGrpcDatagrams(const GrpcOptions& options,
                                                             const JobSecret& secret) {
  std::optional<Pems> pems;
  if (options.tls) {
    DTNN_ASSIGN_OR_RETURN(pems, ReadPems(*options.tls, options.address.host));
  }
  return std::make_unique<GrpcDatagrams>(options, secret, std::move(pems));
}

}  // namespace dtnn
