#include "comm/grpc/switchboard.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "comm/crypto/random_secret.h"
#include "comm/grpc/grpc_secret.h"
#include "comm/grpc/letter_queue.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kMostStrangers = 128;
constexpr std::chrono::seconds kHandshake(10);
constexpr int kMostLetterBytes = int(Datagrams::kMostBytes) + 1024;

proto::Letter LetterOf(std::string packet) {
  proto::Letter letter;
  letter.set_packet(std::move(packet));
  return letter;
}

void Set(const Instance& instance, proto::RankInstance* to) {
  to->set_rank(instance.rank);
  to->set_number(instance.number);
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(grpc::StatusCode(status.code()), std::string(status.message()));
}

}  // namespace

// The call of one process. gRPC says when it is over; until then it keeps itself.
class Switchboard::Line : public grpc::ServerBidiReactor<proto::Letter, proto::Letter> {
 public:
  Line(Switchboard& board, grpc::CallbackServerContext* context)
      : board_(board),
        context_(context),
        queue_([this](const proto::Letter& letter) { StartWrite(&letter); },
               [this] { grpc::ServerBidiReactor<proto::Letter, proto::Letter>::Finish(end_); }) {}

  void Begin(std::shared_ptr<Line> self) {
    self_ = std::move(self);
    std::array<uint8_t, 32> nonce;
    if (const absl::Status status = FillRandom(nonce); !status.ok()) return End(status);
    nonce_.assign(nonce.begin(), nonce.end());
    proto::Letter letter;
    letter.set_nonce(nonce_);
    queue_.Push(std::move(letter));
    StartRead(&in_);
  }
  void Push(proto::Letter letter) { queue_.Push(std::move(letter)); }
  void AwaitEmpty(std::chrono::steady_clock::time_point end) { queue_.AwaitEmpty(end); }
  void Drop() { context_->TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return End(absl::OkStatus());
    if (joined_) {
      if (in_.has_packet()) board_.Hear(in_.to(), std::move(*in_.mutable_packet()));
    } else if (const absl::Status status = Join(); !status.ok()) {
      return End(status);
    }
    StartRead(&in_);
  }
  void OnWriteDone(bool ok) override { queue_.Written(ok); }
  void OnCancel() override { End(absl::CancelledError("cancelled")); }
  void OnDone() override {
    board_.Lose(self_);
    self_ = nullptr;
  }

 private:
  absl::Status Join() {
    if (!in_.has_joining()) return InvalidArgument("says something else than who it is");
    const proto::Joining& joining = in_.joining();
    const Instance who = {joining.instance().rank(), joining.instance().number()};
    DTNN_RETURN_IF_ERROR(CheckProof(board_.secret_, who, nonce_, joining.proof()));
    DTNN_RETURN_IF_ERROR(board_.Join(self_, who));
    joined_ = true;
    return absl::OkStatus();
  }
  void End(const absl::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return;
      ending_ = true;
      end_ = ToGrpc(status);
    }
    queue_.Finish(/*after_letters=*/true);
  }

  Switchboard& board_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<Line> self_;
  std::string nonce_;
  proto::Letter in_;
  bool joined_ = false;
  std::mutex mutex_;
  bool ending_ = false;
  grpc::Status end_;
  LetterQueue queue_;
};

class Switchboard::Service : public proto::Switchboard::CallbackService {
 public:
  explicit Service(dtnn::Switchboard& board) : board_(board) {}

  grpc::ServerBidiReactor<proto::Letter, proto::Letter>* Join(
      grpc::CallbackServerContext* context) override {
    const std::shared_ptr<Line> line = board_.Admit(context);
    line->Begin(line);
    return line.get();
  }

 private:
  dtnn::Switchboard& board_;
};

Switchboard::Switchboard(Socket listener, const JobSecret& secret, const Instance& me,
                         const SwitchboardOptions& options, Datagrams::Ears ears)
    : listener_(std::move(listener)),
      secret_(secret),
      me_(me),
      options_(options),
      ears_(std::move(ears)) {}

absl::Status Switchboard::Listen(std::shared_ptr<grpc::ServerCredentials> credentials) {
  service_ = std::make_unique<Service>(*this);
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  builder.SetMaxReceiveMessageSize(kMostLetterBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 4);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, int(kHandshake.count() * 1000));
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      std::move(credentials));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC's server does not start");
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { AcceptAll(); });
  return absl::OkStatus();
}

Switchboard::~Switchboard() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
    close(stop_);
  }
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
}

void Switchboard::AcceptAll() {
  while (true) {
    std::array<pollfd, 2> descriptors = {{{stop_, POLLIN, 0}, {listener_.descriptor(), POLLIN, 0}}};
    poll(descriptors.data(), descriptors.size(), -1);
    if (descriptors[0].revents != 0) return;
    absl::StatusOr<std::optional<Socket>> socket = Accept(listener_);
    if (!socket.ok() || !*socket) {
      // Without files, until some are free again.
      if (!socket.ok()) poll(descriptors.data(), 1, 100);
      continue;
    }
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener_.descriptor();
    connection.fd = (*socket)->Release();
    acceptor_->HandleNewConnection(&connection);
  }
}

std::shared_ptr<Switchboard::Line> Switchboard::Admit(grpc::CallbackServerContext* context) {
  auto line = std::make_shared<Line>(*this, context);
  const std::lock_guard lock(mutex_);
  strangers_.push_back(line);
  if (strangers_.size() > kMostStrangers) {
    // With the lock: the call of who is in the list cannot end before Lose has had it. It runs no
    // callbacks, since this is one.
    strangers_.front()->Drop();
    strangers_.pop_front();
  }
  return line;
}

absl::Status Switchboard::Join(const std::shared_ptr<Line>& line, const Instance& who) {
  proto::Letter joined;
  Set(me_, joined.mutable_joined());
  const std::lock_guard lock(mutex_);
  if (who.rank <= 0 || who.rank >= options_.size) {
    return InvalidArgument("it says that it is rank ", who.rank, "; there are ", options_.size,
                           " ranks");
  }
  if (ranks_.contains(who.rank)) {
    return InvalidArgument("another process has joined it as rank ", who.rank,
                           "; each process needs a rank of its own");
  }
  std::erase(strangers_, line);
  line->Push(std::move(joined));
  ranks_[who.rank] = {.line = line, .instance = who};
  return absl::OkStatus();
}

std::shared_ptr<Switchboard::Line> Switchboard::LineOf(int rank) {
  const std::lock_guard lock(mutex_);
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : found->second.line;
}

void Switchboard::Hear(int to, std::string packet) {
  if (to == me_.rank) return ears_.heard(packet);
  if (!options_.only_with_rank_0) Send(to, std::move(packet));
}

void Switchboard::Send(int to, std::string packet) {
  if (const std::shared_ptr<Line> line = LineOf(to)) line->Push(LetterOf(std::move(packet)));
}

void Switchboard::Flush(std::chrono::steady_clock::time_point end) {
  std::vector<std::shared_ptr<Line>> lines;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [rank, place] : ranks_) lines.push_back(place.line);
  }
  for (const std::shared_ptr<Line>& line : lines) line->AwaitEmpty(end);
}

void Switchboard::Lose(const std::shared_ptr<Line>& line) {
  std::optional<Instance> who;
  std::vector<std::shared_ptr<Line>> others;
  {
    const std::lock_guard lock(mutex_);
    std::erase(strangers_, line);
    for (const auto& [rank, place] : ranks_) {
      if (place.line == line) {
        who = place.instance;
      } else if (!options_.only_with_rank_0) {
        others.push_back(place.line);
      }
    }
    if (who) ranks_.erase(who->rank);
  }
  if (!who) return;
  proto::Letter left;
  Set(*who, left.mutable_left());
  for (const std::shared_ptr<Line>& other : others) other->Push(left);
  ears_.left(*who);
}

}  // namespace dtnn
