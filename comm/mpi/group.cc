#include "comm/mpi/group.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "comm/mpi/transfer.h"
#include "comm/reduce_in_order.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// Of signatures of messages: from the sender and from the receiver.
constexpr int kSenderTag = 3, kReceiverTag = 4;

// Rounds of a collective whose messages have all arrived.
constexpr int kLastPolls = 8;

std::string NoAnswerOf(const std::vector<int>& ranks) {
  return absl::StrCat(RankList(ranks), ", which ", ranks.size() > 1 ? "do" : "does",
                      " not answer (dead or frozen)");
}

}  // namespace

Group::Group(int32_t number, int rank, int size, const Comms& comms,
             const CommunicatorOptions& options, const MpiOptions& mpi, ControlChannel& control,
             CallGuard& guard, const std::vector<ProcessId>& processes)
    : number_(number),
      rank_(rank),
      size_(size),
      data_(comms.data),
      signatures_(comms.signatures),
      options_(options),
      mpi_(mpi),
      control_(control),
      guard_(guard),
      processes_(processes),
      sent_(size_t(size), 0),
      received_(size_t(size), 0),
      peers_(size_t(size)) {
  watch_.emplace(guard, options_, options_.timeout);
  if (comms.stages[0] != MPI_COMM_NULL) hierarchy_.emplace(comms.stages);
}

bool Group::departed(int rank) const {
  return peers_[size_t(rank)].left || std::count(lost_.begin(), lost_.end(), rank) > 0;
}

bool Group::gathers(const Operation& operation) const {
  return !mpi_.buffers && operation.call.kind == CollectiveKind::kAllReduce;
}

bool Group::staged(const Operation& operation) const {
  const Collective& call = operation.call;
  if (!hierarchy_ || gathers(operation) || call.kind != CollectiveKind::kAllReduce) return false;
  const int64_t elements = call.input.num_elements();
  return elements > 0 && elements <= mpi_.max_count &&
         elements * int64_t(SizeOf(call.input.dtype())) >= mpi_.staged_bytes;
}

std::shared_ptr<Operation> Group::Start(const Collective& call) {
  auto operation = std::make_shared<Operation>();
  operation->call = call;
  int64_t& number = call.kind == CollectiveKind::kSend      ? sent_[size_t(call.root)]
                    : call.kind == CollectiveKind::kReceive ? received_[size_t(call.root)]
                                                            : calls_;
  operation->key = CallKey::Of(rank_, number++, call);
  if (size_ == 1 && broken_.ok()) {
    Finish(*operation);
    return operation;
  }
  CheckDepartures(*operation);
  if (broken_.ok()) {
    operations_.push_back(operation);
    const absl::Status status = checked() ? BeginSignatures(*operation) : Begin(*operation);
    if (!status.ok()) Break(status, {});
  }
  if (!broken_.ok()) {
    operation->status = broken_;
  } else if (operation->step == Operation::Step::kTransfer && operation->requests.empty()) {
    operations_.pop_back();
    Finish(*operation);
  }
  return operation;
}

absl::Status Group::BeginSignatures(Operation& operation) {
  operation.step = Operation::Step::kSignature;
  const CallSignature mine = operation.call.signature();
  constexpr int kBytes = sizeof(CallSignature);
  MPI_Request first = MPI_REQUEST_NULL, second = MPI_REQUEST_NULL;
  if (!operation.call.between_two()) {
    operation.signatures.assign(size_t(size_), {});
    operation.signatures[size_t(rank_)] = mine;
    DTNN_RETURN_IF_ERROR(MpiStatus(guard_.Call([&] {
      return MPI_Iallgather(MPI_IN_PLACE, kBytes, MPI_BYTE, operation.signatures.data(), kBytes,
                            MPI_BYTE, signatures_, &first);
    }),
                                   "MPI_Iallgather"));
    operation.requests = {first};
    return absl::OkStatus();
  }
  operation.signatures.assign(2, mine);
  const bool sends = operation.call.kind == CollectiveKind::kSend;
  const int peer = operation.call.root;
  CallSignature* const theirs = &operation.signatures[sends ? 1 : 0];
  CallSignature* const ours = &operation.signatures[sends ? 0 : 1];
  DTNN_RETURN_IF_ERROR(MpiStatus(guard_.Call([&] {
    return MPI_Isend(ours, kBytes, MPI_BYTE, peer, sends ? kSenderTag : kReceiverTag, signatures_,
                     &first);
  }),
                                 "MPI_Isend"));
  DTNN_RETURN_IF_ERROR(MpiStatus(guard_.Call([&] {
    return MPI_Irecv(theirs, kBytes, MPI_BYTE, peer, sends ? kReceiverTag : kSenderTag, signatures_,
                     &second);
  }),
                                 "MPI_Irecv"));
  operation.requests = {first, second};
  return absl::OkStatus();
}

absl::Status Group::CompareSignatures(const Operation& operation) const {
  const std::vector<CallSignature>& all = operation.signatures;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[0].Fits(all[i])) continue;
    const bool message = operation.key.is_message();
    return absl::InvalidArgumentError(absl::StrCat(
        operation.key.ToString(), " differs between ranks: rank ", message ? operation.key.from : 0,
        " called ", all[0].ToString(), ", rank ", message ? operation.key.to : int(i), " called ",
        all[i].ToString(), "; every rank must make the same calls in the same order"));
  }
  return absl::OkStatus();
}

absl::Status Group::Begin(Operation& operation) {
  operation.step = Operation::Step::kTransfer;
  if (staged(operation)) return BeginStage(operation);
  if (!gathers(operation)) {
    return BeginTransfer(operation.call, rank_, data_, mpi_.max_count, guard_, operation.requests);
  }
  Collective all = operation.call;
  DTNN_ASSIGN_OR_RETURN(operation.gathered, Tensor::Allocate(Device::Cpu(), all.input.dtype(),
                                                             {size_, all.input.num_elements()}));
  all.kind = CollectiveKind::kAllGather;
  all.output = operation.gathered;
  return BeginTransfer(all, rank_, data_, mpi_.max_count, guard_, operation.requests);
}

void Group::Finish(Operation& operation) {
  operation.step = Operation::Step::kDone;
  const Collective& call = operation.call;
  if (size_ == 1 && call.kind == CollectiveKind::kAllGather &&
      call.input.raw_data() != call.output.raw_data()) {
    std::memcpy(call.output.raw_data(), call.input.raw_data(),
                size_t(call.input.num_elements()) * SizeOf(call.input.dtype()));
  }
  if (operation.gathered.empty()) return;
  const int64_t elements = call.input.num_elements();
  std::vector<const std::byte*> inputs;
  for (int rank = 0; rank < size_; ++rank) {
    inputs.push_back(operation.gathered.raw_data() +
                     size_t(rank * elements) * SizeOf(call.input.dtype()));
  }
  std::byte* const output = call.output.raw_data();
  ReduceInOrder(call.op, call.input.dtype(), inputs, {&output, 1}, elements);
  operation.gathered = Tensor();
}

bool Group::HasTurn(const Operation& operation) const {
  for (const std::shared_ptr<Operation>& earlier : operations_) {
    if (earlier.get() == &operation) return true;
    if (earlier->step < Operation::Step::kTransfer && earlier->key.from == operation.key.from &&
        earlier->key.to == operation.key.to) {
      return false;
    }
  }
  return true;
}

bool Group::HasTurnOfStage(const Operation& operation) const {
  for (const std::shared_ptr<Operation>& earlier : operations_) {
    if (earlier.get() == &operation) return true;
    if (staged(*earlier) && earlier->stage <= operation.stage) return false;
  }
  return true;
}

absl::Status Group::BeginStage(Operation& operation) {
  operation.requests.clear();
  ++operation.stage;
  return hierarchy_->Begin(Hierarchy::Stage(operation.stage), operation.call, operation.slices,
                           guard_, operation.requests);
}

bool Group::Advance(Operation& operation) {
  const auto completed = [&]() -> bool {
    int all = 0;
    const absl::Status status = MpiStatus(guard_.Call([&] {
      return MPI_Testall(int(operation.requests.size()), operation.requests.data(), &all,
                         MPI_STATUSES_IGNORE);
    }),
                                          "a transfer");
    if (!status.ok()) {
      Break(absl::Status(status.code(),
                         absl::StrCat(operation.key.ToString(), ", ", operation.call.ToString(),
                                      ": ", std::string(status.message()))),
            {});
    }
    return status.ok() && all != 0;
  };
  bool moved = false;
  if (operation.step == Operation::Step::kSignature && completed()) {
    moved = true;
    operation.step = Operation::Step::kTurn;
    operation.requests.clear();
    if (absl::Status status = CompareSignatures(operation); !status.ok()) Break(status, {});
  }
  if (broken_.ok() && operation.step == Operation::Step::kTurn && HasTurn(operation)) {
    moved = true;
    if (absl::Status status = Begin(operation); !status.ok()) Break(status, {});
  }
  if (broken_.ok() && operation.step == Operation::Step::kTransfer && completed()) {
    if (!staged(operation) || operation.stage + 1 == Hierarchy::kStages) {
      moved = true;
      Finish(operation);
    } else if (HasTurnOfStage(operation)) {
      moved = true;
      if (absl::Status status = BeginStage(operation); !status.ok()) Break(status, {});
    }
  }
  return moved;
}

bool Group::Progress() {
  bool moved = false;
  for (size_t i = 0; i < operations_.size() && broken_.ok();) {
    moved |= Advance(*operations_[i]);
    if (operations_[i]->done()) {
      operations_.erase(operations_.begin() + int64_t(i));
    } else {
      ++i;
    }
  }
  return moved;
}

bool Group::HasCalled(int peer, const CallKey& key) const {
  const Peer& p = peers_[size_t(peer)];
  return key.number < (!key.is_message() ? p.calls : key.from == peer ? p.sent : p.received);
}

void Group::CheckDepartures(const Operation& operation) {
  for (int peer = 0; peer < size_ && broken_.ok(); ++peer) {
    if (!peers_[size_t(peer)].left || !operation.key.concerns(peer) ||
        HasCalled(peer, operation.key)) {
      continue;
    }
    Break(absl::UnavailableError(absl::StrCat("rank ", peer, " left the group before ",
                                              operation.key.ToString(), ", which rank ", rank_,
                                              " called: ", operation.call.ToString())),
          {peer});
  }
}

ControlMessage Group::Position(ControlMessage::Kind kind, int to) const {
  ControlMessage message;
  message.kind = kind;
  message.group = number_;
  message.calls = calls_;
  message.sent = sent_[size_t(to)];
  message.received = received_[size_t(to)];
  return message;
}

void Group::Receive(int from, const ControlMessage& message) {
  Peer& peer = peers_[size_t(from)];
  switch (message.kind) {
    case ControlMessage::Kind::kQuery:
      return control_.Send(from, Position(ControlMessage::Kind::kAnswer, from));
    case ControlMessage::Kind::kAbort:
      return BreakLike(message);
    case ControlMessage::Kind::kLeave:
      peer.left = true;
      // It may be faster than the message from the rank that broke the group.
      if (!message.status.ok()) BreakLike(message);
      [[fallthrough]];
    case ControlMessage::Kind::kAnswer:
      peer.asked.reset();
      peer.calls = message.calls;
      peer.sent = message.sent;
      peer.received = message.received;
  }
  if (!peer.left) return;
  for (const std::shared_ptr<Operation>& operation : operations_) CheckDepartures(*operation);
}

void Group::Break(const absl::Status& why, std::vector<int> lost) {
  if (!broken_.ok()) return;
  broken_ = why;
  lost_ = std::move(lost);
  std::sort(lost_.begin(), lost_.end());
  if (guard_.stuck()) {
    lost_ = EndedRanks(processes_);
    broken_ = absl::UnavailableError(absl::StrCat(
        "rank ", rank_, ": ", std::string(why.message()),
        lost_.empty() ? "" : absl::StrCat("; the processes have ended of ", RankList(lost_))));
    return;
  }
  Tell(ControlMessage::Kind::kAbort);
}

void Group::Tell(ControlMessage::Kind kind) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || peers_[size_t(peer)].left) continue;
    ControlMessage message = Position(kind, peer);
    message.status = broken_;
    message.lost = lost_;
    control_.Send(peer, message);
  }
}

void Group::BreakLike(const ControlMessage& message) {
  // What the sender completed before it sent this is completed here too, if it can be.
  for (int idle = 0; idle < kLastPolls; ++idle) {
    if (Progress()) idle = 0;
  }
  if (!broken_.ok()) return;
  broken_ = message.status;
  lost_ = message.lost;
}

void Group::BreakStuck() { Break(MpiStatus(kMpiStuck, "an MPI call"), {}); }

void Group::Leave() {
  Tell(ControlMessage::Kind::kLeave);
  watch_.reset();
}

void Group::Free() {
  guard_.Call([&] { return MPI_Comm_free(&data_); });
  if (checked()) guard_.Call([&] { return MPI_Comm_free(&signatures_); });
  if (hierarchy_) hierarchy_->Free(guard_);
}

void Group::Query(const Operation& operation, Clock::time_point now, bool once_more) {
  for (int peer = 0; peer < size_; ++peer) {
    Peer& p = peers_[size_t(peer)];
    if (peer == rank_ || p.left || p.asked || !operation.key.concerns(peer)) continue;
    if (once_more && HasCalled(peer, operation.key)) continue;
    p.asked = now;
    control_.Send(peer, Position(ControlMessage::Kind::kQuery, peer));
  }
}

std::vector<int> Group::SilentRanks(const Operation& operation, Clock::time_point patience_from,
                                    std::vector<int>* late) const {
  std::vector<int> silent;
  for (int peer = 0; peer < size_; ++peer) {
    const Peer& p = peers_[size_t(peer)];
    if (peer == rank_ || p.left || !operation.key.concerns(peer)) continue;
    if (p.asked && *p.asked <= patience_from) {
      silent.push_back(peer);
    } else if (late != nullptr && !HasCalled(peer, operation.key)) {
      late->push_back(peer);
    }
  }
  return silent;
}

Group::Absence Group::Silent(const Operation& operation, Clock::time_point patience_from) const {
  Absence absence;
  absence.ranks = SilentRanks(operation, patience_from, nullptr);
  if (!absence.ranks.empty()) absence.text = NoAnswerOf(absence.ranks);
  return absence;
}

Group::Absence Group::Missing(const Operation& operation, Clock::time_point patience_from) const {
  Absence absence;
  std::vector<int> late;
  const std::vector<int> silent = SilentRanks(operation, patience_from, &late);
  std::vector<std::string> parts;
  if (!late.empty()) parts.push_back(absl::StrCat(RankList(late), ", which did not call it"));
  if (!silent.empty()) parts.push_back(NoAnswerOf(silent));
  absence.text = absl::StrJoin(parts, ", and for ");
  absence.ranks = std::move(late);
  absence.ranks.insert(absence.ranks.end(), silent.begin(), silent.end());
  return absence;
}

}  // namespace dtnn
