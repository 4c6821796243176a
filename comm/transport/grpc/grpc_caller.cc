#include "comm/transport/grpc/grpc_caller.h"

#include <utility>

#include "comm/transport/grpc/grpc_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

Instance InstanceOf(const proto::RankInstance& instance) {
  return {instance.rank(), instance.number()};
}

}  // namespace

GrpcCaller::GrpcCaller(std::shared_ptr<grpc::Channel> channel, std::string server,
                       const JobSecret& secret, const Instance& me, int peers,
                       Datagrams::Handlers handlers)
    : channel_(std::move(channel)),
      server_(std::move(server)),
      secret_(secret),
      me_(me),
      handlers_(std::move(handlers)),
      stub_(proto::Switchboard::NewStub(channel_)),
      queue_(
          size_t(peers) * EnvelopeQueue::kMostOfOneRank,
          [this](const proto::Envelope& envelope) { StartWrite(&envelope); },
          [this] {
            StartWritesDone();
            RemoveHold();
          }) {}

GrpcCaller::~GrpcCaller() {
  context_.TryCancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_ || !begun_; });
}

void GrpcCaller::Begin() {
  begun_ = true;
  stub_->async()->Join(&context_, this);
  StartRead(&in_);
  AddHold();  // until the last write of Send has begun and ended, whatever is read meanwhile
  StartCall();
}

std::optional<absl::Status> GrpcCaller::AwaitJoined(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [this] { return joined_ || done_; });
  if (joined_) return absl::OkStatus();
  if (done_) return status_.ok() ? Unavailable("the server ended the call") : status_;
  return std::nullopt;
}

void GrpcCaller::Send(int to, std::string packet) {
  proto::Envelope envelope;
  envelope.set_to(to);
  envelope.set_packet(std::move(packet));
  queue_.Push(std::move(envelope));
}

absl::Status GrpcCaller::Hear() {
  switch (in_.content_case()) {
    case proto::Envelope::kNonce: {
      const std::string& nonce = in_.nonce();
      DTNN_ASSIGN_OR_RETURN(const std::string proof, ProveToServer(secret_, me_, nonce));
      proto::Envelope envelope;
      proto::RankInstance* const me = envelope.mutable_joining()->mutable_instance();
      me->set_rank(me_.rank);
      me->set_number(me_.number);
      envelope.mutable_joining()->set_proof(proof);
      queue_.Push(std::move(envelope));
      break;
    }
    case proto::Envelope::kJoined: {
      const std::lock_guard lock(mutex_);
      server_instance_ = InstanceOf(in_.joined());
      joined_ = true;
      changed_.notify_all();
      break;
    }
    case proto::Envelope::kPacket:
      handlers_.received(in_.packet());
      break;
    case proto::Envelope::kLeft:
      handlers_.left(InstanceOf(in_.left()));
      break;
    default:
      return InvalidArgument("the server says what no switchboard says");
  }
  return absl::OkStatus();
}

void GrpcCaller::OnReadDone(bool ok) {
  const absl::Status heard = ok ? Hear() : absl::OkStatus();
  if (ok && heard.ok()) return StartRead(&in_);
  if (ok) {
    {
      const std::lock_guard lock(mutex_);
      status_ = heard;
    }
    context_.TryCancel();
  }
  queue_.Finish();
}

void GrpcCaller::OnDone(const grpc::Status& status) {
  bool joined = false;
  Instance server;
  absl::Status why;
  {
    const std::lock_guard lock(mutex_);
    joined = joined_;
    server = server_instance_;
    why = status_;
  }
  if (joined) {
    handlers_.left(server);
    handlers_.cut(why.ok() ? Unavailable(server_, " ended the connection")
                           : Unavailable(server_, ": ", why.message()));
  }
  const std::lock_guard lock(mutex_);
  if (why.ok()) {
    status_ = absl::Status(absl::StatusCode(status.error_code()), status.error_message());
  }
  done_ = true;
  changed_.notify_all();
}

}  // namespace dtnn
