#include "comm/ranks/mpi/group_transfers.h"

#include <utility>

#include "comm/ranks/mpi/transfer.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Tags of signatures of messages: from the sender and from the receiver.
constexpr int kSenderTag = 3, kReceiverTag = 4;

}  // namespace

GroupTransfers::GroupTransfers(std::shared_ptr<Group> group, const Comms& comms,
                               const MpiOptions& mpi)
    : group_(std::move(group)), comms_(comms), mpi_(mpi) {
  if (comms.stages[0] != MPI_COMM_NULL) hierarchy_.emplace(comms.stages);
}

bool GroupTransfers::gathers(const Transfer& transfer) const {
  const CollectiveKind kind = transfer.call().kind;
  return kind == CollectiveKind::kReduceScatter ||
         (kind == CollectiveKind::kAllReduce && !mpi_.buffers);
}

bool GroupTransfers::staged(const Transfer& transfer) const {
  const Collective& call = transfer.call();
  if (!hierarchy_ || gathers(transfer) || call.kind != CollectiveKind::kAllReduce) return false;
  const int64_t elements = call.input.num_elements();
  return elements > 0 && elements <= mpi_.max_count &&
         elements * int64_t(SizeOf(call.input.dtype())) >= mpi_.staged_bytes;
}

void GroupTransfers::Start(std::shared_ptr<Operation> operation) {
  transfers_.push_back(
      {.operation = std::move(operation), .step = checked() ? Step::kSignature : Step::kTurn});
}

absl::Status GroupTransfers::BeginSignatures(Transfer& transfer) {
  const CallSignature mine = transfer.call().signature();
  constexpr int kBytes = sizeof(CallSignature);
  if (!transfer.call().between_two()) {
    transfer.signatures.assign(size_t(group_->size()), {});
    transfer.signatures[size_t(group_->rank())] = mine;
    return MpiStatus(
        MPI_Iallgather(MPI_IN_PLACE, kBytes, MPI_BYTE, transfer.signatures.data(), kBytes, MPI_BYTE,
                       comms_.signatures, &transfer.requests.emplace_back(MPI_REQUEST_NULL)),
        "MPI_Iallgather");
  }
  transfer.signatures.assign(2, mine);
  const bool sends = transfer.call().kind == CollectiveKind::kSend;
  const int peer = transfer.call().root;
  CallSignature* const theirs = &transfer.signatures[sends ? 1 : 0];
  CallSignature* const ours = &transfer.signatures[sends ? 0 : 1];
  DTNN_RETURN_IF_ERROR(
      MpiStatus(MPI_Isend(ours, kBytes, MPI_BYTE, peer, sends ? kSenderTag : kReceiverTag,
                          comms_.signatures, &transfer.requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Isend"));
  return MpiStatus(MPI_Irecv(theirs, kBytes, MPI_BYTE, peer, sends ? kReceiverTag : kSenderTag,
                             comms_.signatures, &transfer.requests.emplace_back(MPI_REQUEST_NULL)),
                   "MPI_Irecv");
}

absl::Status GroupTransfers::CompareSignatures(const Transfer& transfer) const {
  const std::vector<CallSignature>& all = transfer.signatures;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[0].Fits(all[i])) continue;
    const CallKey& key = transfer.key();
    return CallsDiffer(key, key.is_message() ? key.from : 0, all[0],
                       key.is_message() ? key.to : int(i), all[i]);
  }
  return absl::OkStatus();
}

absl::Status GroupTransfers::Begin(Transfer& transfer) {
  const int rank = group_->rank();
  if (staged(transfer)) return BeginStage(transfer);
  if (!gathers(transfer)) {
    return BeginTransfer(transfer.call(), rank, comms_.data, mpi_.max_count, transfer.requests);
  }
  Collective all = transfer.call();
  const int64_t elements = all.output.num_elements();
  DTNN_ASSIGN_OR_RETURN(transfer.gathered, Tensor::Allocate(Device::Cpu(), all.input.dtype(),
                                                            {group_->size(), elements}));
  all.kind = all.in_parts() ? CollectiveKind::kAllToAll : CollectiveKind::kAllGather;
  all.output = transfer.gathered;
  return BeginTransfer(all, rank, comms_.data, mpi_.max_count, transfer.requests);
}

bool GroupTransfers::HasTurn(const Transfer& transfer) const {
  for (const Transfer& earlier : transfers_) {
    if (&earlier == &transfer) return true;
    if (earlier.step < Step::kTransfer && earlier.key().from == transfer.key().from &&
        earlier.key().to == transfer.key().to) {
      return false;
    }
  }
  return true;
}

bool GroupTransfers::HasTurnOfStage(const Transfer& transfer) const {
  for (const Transfer& earlier : transfers_) {
    if (&earlier == &transfer) return true;
    if (staged(earlier) && earlier.stage <= transfer.stage) return false;
  }
  return true;
}

absl::Status GroupTransfers::BeginStage(Transfer& transfer) {
  transfer.requests.clear();
  ++transfer.stage;
  return hierarchy_->Begin(Hierarchy::Stage(transfer.stage), transfer.call(), transfer.slices,
                           transfer.requests);
}

absl::Status GroupTransfers::Advance(Transfer& transfer, bool& moved) {
  bool complete = false;
  if (transfer.step == Step::kSignature) {
    if (transfer.signatures.empty()) DTNN_RETURN_IF_ERROR(BeginSignatures(transfer));
    DTNN_RETURN_IF_ERROR(TestAll(transfer.requests, "the exchange of signatures", complete));
    if (!complete) return absl::OkStatus();
    moved = true;
    transfer.requests.clear();
    DTNN_RETURN_IF_ERROR(CompareSignatures(transfer));
    transfer.step = Step::kTurn;
  }
  if (transfer.step == Step::kTurn) {
    if (!HasTurn(transfer)) return absl::OkStatus();
    moved = true;
    DTNN_RETURN_IF_ERROR(Begin(transfer));
    transfer.step = Step::kTransfer;
  }
  DTNN_RETURN_IF_ERROR(TestAll(transfer.requests, "a transfer", complete));
  if (!complete) return absl::OkStatus();
  if (!staged(transfer) || transfer.stage + 1 == Hierarchy::kStages) {
    moved = true;
    transfer.step = Step::kDone;
  } else if (HasTurnOfStage(transfer)) {
    moved = true;
    return BeginStage(transfer);
  }
  return absl::OkStatus();
}

bool GroupTransfers::Progress(Finished finished) {
  bool moved = false;
  for (auto transfer = transfers_.begin(); transfer != transfers_.end() && in_flight();) {
    if (const absl::Status status = Advance(*transfer, moved); !status.ok()) {
      failed_ = true;  // and the call stays, with what MPI may still write to
      finished(transfer->operation, status, Tensor());
      return true;
    }
    if (transfer->step != Step::kDone) {
      ++transfer;
      continue;
    }
    const Transfer done = std::move(*transfer);
    transfer = transfers_.erase(transfer);
    finished(done.operation, absl::OkStatus(), done.gathered);
  }
  return moved;
}

void GroupTransfers::Free() {
  MPI_Comm_free(&comms_.data);
  if (checked()) MPI_Comm_free(&comms_.signatures);
  if (hierarchy_) hierarchy_->Free();
}

}  // namespace dtnn
