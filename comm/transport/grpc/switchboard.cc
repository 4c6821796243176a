#include "comm/transport/grpc/switchboard.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/transport/grpc/envelope_queue.h"
#include "comm/transport/grpc/grpc_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = std::chrono::steady_clock;

// For ranks whose calls have not ended when rank 0 ends.
constexpr std::chrono::milliseconds kLastMoment(500);
constexpr int kMostEnvelopeBytes = int(Datagrams::kMostBytes) + 1024;

proto::Envelope EnvelopeOf(std::string packet) {
  proto::Envelope envelope;
  envelope.set_packet(std::move(packet));
  return envelope;
}

void Set(const Instance& instance, proto::RankInstance* to) {
  to->set_rank(instance.rank);
  to->set_number(instance.number);
}

// An address without its interface (link-local ones have one), in gRPC's spelling or ours:
// "ipv6:%5Bfe80::1%252%5D:61642" and "[fe80::1%eth0]:61642" are "[fe80::1]:61642".
std::string Unscoped(const std::string& address) {
  std::string text =
      absl::StrReplaceAll(address, {{"ipv4:", ""}, {"ipv6:", ""}, {"%5B", "["}, {"%5D", "]"}});
  const size_t scope = text.find('%');
  if (scope != text.npos) text.erase(scope, text.find(']') - scope);
  return text;
}

// When something came on that connection last.
Clock::time_point LastNews(const Socket& socket, Clock::time_point now) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(socket.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return now;
  return now - std::chrono::milliseconds(info.tcpi_last_data_recv);
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(grpc::StatusCode(status.code()), std::string(status.message()));
}

}  // namespace

// The call of one process. gRPC says when it is over; until then it keeps itself.
class Switchboard::Line : public grpc::ServerBidiReactor<proto::Envelope, proto::Envelope> {
 public:
  Line(Switchboard& board, grpc::CallbackServerContext* context)
      : board_(board),
        context_(context),
        queue_(
            size_t(board.options_.only_with_rank_0 ? 1 : board.options_.size - 1) *
                EnvelopeQueue::kMostOfOneRank,
            [this](const proto::Envelope& envelope) { StartWrite(&envelope); },
            [this] { grpc::ServerBidiReactor<proto::Envelope, proto::Envelope>::Finish(end_); }) {}

  void Begin(std::shared_ptr<Line> self) {
    self_ = std::move(self);
    std::array<uint8_t, 32> nonce;
    if (const absl::Status status = FillRandom(nonce); !status.ok()) return End(status);
    nonce_.assign(nonce.begin(), nonce.end());
    proto::Envelope envelope;
    envelope.set_nonce(nonce_);
    queue_.Push(std::move(envelope));
    StartRead(&in_);
  }
  void Push(proto::Envelope envelope) { queue_.Push(std::move(envelope)); }
  bool AwaitEmpty(std::chrono::steady_clock::time_point until) { return queue_.AwaitEmpty(until); }
  std::string peer() const { return context_->peer(); }

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
    if (!in_.has_joining()) return InvalidArgument("does not say which rank it is");
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
    queue_.Finish(/*after_envelopes=*/true);
  }

  Switchboard& board_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<Line> self_;
  std::string nonce_;
  proto::Envelope in_;
  bool joined_ = false;
  std::mutex mutex_;
  bool ending_ = false;
  grpc::Status end_;
  EnvelopeQueue queue_;
};

class Switchboard::Service : public proto::Switchboard::CallbackService {
 public:
  explicit Service(dtnn::Switchboard& board) : board_(board) {}

  grpc::ServerBidiReactor<proto::Envelope, proto::Envelope>* Join(
      grpc::CallbackServerContext* context) override {
    const auto line = std::make_shared<Line>(board_, context);
    line->Begin(line);
    return line.get();
  }

 private:
  dtnn::Switchboard& board_;
};

Switchboard::Switchboard(Socket listener, const JobSecret& secret, const Instance& me,
                         const SwitchboardOptions& options, Datagrams::Handlers handlers)
    : listener_(std::move(listener)),
      secret_(secret),
      me_(me),
      options_(options),
      handlers_(std::move(handlers)) {}

absl::Status Switchboard::Listen(std::shared_ptr<grpc::ServerCredentials> credentials) {
  DTNN_RETURN_IF_ERROR(stop_.status());
  service_ = std::make_unique<Service>(*this);
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  builder.SetMaxReceiveMessageSize(kMostEnvelopeBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 4);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             int(WaitingRoom<Connection>::kTime / std::chrono::milliseconds(1)));
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      std::move(credentials));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC's server does not start");
  thread_ = std::thread([this] { AcceptAll(); });
  return absl::OkStatus();
}

Switchboard::~Switchboard() {
  // Ranks that rank 0 needs no more may still need each other.
  if (!options_.only_with_rank_0) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLastMoment, [this] { return ranks_.empty(); });
  }
  if (thread_.joinable()) {
    stop_.Wake();
    thread_.join();
  }
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
}

void Switchboard::AcceptAll() {
  while (true) {
    std::vector<pollfd> polled = {{stop_.descriptor(), POLLIN, 0},
                                  {listener_.descriptor(), POLLIN, 0}};
    const Clock::time_point late = AddTo(polled);
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(late - Clock::now()).count();
    poll(polled.data(), polled.size(), int(std::clamp<int64_t>(pause, 0, 60'000)));
    if (polled[0].revents != 0) return;
    CloseSome(std::span(polled).subspan(2));
    if (polled[1].revents != 0) AcceptOne();
  }
}

Clock::time_point Switchboard::AddTo(std::vector<pollfd>& descriptors) {
  const std::lock_guard lock(mutex_);
  for (const auto& place : unproved_.places()) {
    descriptors.push_back({place.caller.copy.descriptor(), 0, 0});
  }
  for (const Connection& connection : proved_) {
    descriptors.push_back({connection.copy.descriptor(), 0, 0});
  }
  return unproved_.next();
}

void Switchboard::CloseSome(std::span<const pollfd> polled) {
  std::set<int> over;
  for (const pollfd& each : polled) {
    if (each.revents != 0) over.insert(each.fd);
  }
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  std::erase_if(unproved_.places(), [&](const auto& place) {
    const int descriptor = place.caller.copy.descriptor();
    const bool late = now >= place.end;
    if (late) shutdown(descriptor, SHUT_RDWR);
    return late || over.contains(descriptor);
  });
  std::erase_if(proved_, [&](const Connection& connection) {
    return over.contains(connection.copy.descriptor());
  });
}

void Switchboard::AcceptOne() {
  absl::StatusOr<std::optional<Socket>> socket = Accept(listener_);
  if (!socket.ok() || !*socket) {
    // Without files, until some are free again.
    pollfd stop = {stop_.descriptor(), POLLIN, 0};
    if (!socket.ok()) poll(&stop, 1, 100);
    return;
  }
  Socket copy(fcntl((*socket)->descriptor(), F_DUPFD_CLOEXEC, 0));
  const absl::StatusOr<Endpoint> from = (*socket)->Peer();
  if (copy.descriptor() < 0 || !from.ok()) return;
  const int newcomer = copy.descriptor();
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    for (auto& place : unproved_.places()) place.heard = LastNews(place.caller.copy, now);
    const std::optional<Connection> dropped =
        unproved_.Enter({std::move(copy), Unscoped(from->ToString())}, from->host, now);
    if (dropped) shutdown(dropped->copy.descriptor(), SHUT_RDWR);
    if (dropped && dropped->copy.descriptor() == newcomer) return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = listener_.descriptor();
  connection.fd = (*socket)->Release();
  acceptor_->HandleNewConnection(&connection);
}

absl::Status Switchboard::Join(const std::shared_ptr<Line>& line, const Instance& who) {
  proto::Envelope joined;
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
  const auto place = std::ranges::find(unproved_.places(), Unscoped(line->peer()),
                                       [](const auto& each) { return each.caller.caller; });
  if (place != unproved_.places().end()) {
    proved_.push_back(std::move(place->caller));
    unproved_.places().erase(place);
  } else if (std::ranges::find(proved_, Unscoped(line->peer()), &Connection::caller) ==
             proved_.end()) {
    return Unavailable("its connection made room for another");
  }
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
  if (to == me_.rank) return handlers_.received(packet);
  if (!options_.only_with_rank_0) Send(to, std::move(packet));
}

void Switchboard::Send(int to, std::string packet) {
  if (const std::shared_ptr<Line> line = LineOf(to)) line->Push(EnvelopeOf(std::move(packet)));
}

bool Switchboard::Flush(std::chrono::steady_clock::time_point until) {
  std::vector<std::shared_ptr<Line>> lines;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [rank, place] : ranks_) lines.push_back(place.line);
  }
  return std::ranges::all_of(lines, [&](const auto& line) { return line->AwaitEmpty(until); });
}

void Switchboard::Lose(const std::shared_ptr<Line>& line) {
  std::optional<Instance> who;
  std::vector<std::shared_ptr<Line>> others;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [rank, place] : ranks_) {
      if (place.line == line) {
        who = place.instance;
      } else if (!options_.only_with_rank_0) {
        others.push_back(place.line);
      }
    }
    if (who) ranks_.erase(who->rank);
    changed_.notify_all();
  }
  if (!who) return;
  proto::Envelope left;
  Set(*who, left.mutable_left());
  for (const std::shared_ptr<Line>& other : others) other->Push(left);
  handlers_.left(*who);
}

}  // namespace dtnn
