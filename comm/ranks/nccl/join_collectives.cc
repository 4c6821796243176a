#include "comm/ranks/nccl/join_collectives.h"

#include <cstdint>
#include <vector>

#include "comm/gather_values.h"
#include "comm/patience.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

absl::Status CheckGpus(Communicator& communicator, DeviceContext& context) {
  const int64_t mine[] = {communicator.place().node, DeviceCollectives::Hardware(context)};
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues<int64_t>(communicator, mine));
  for (int a = 0; a < communicator.size(); ++a) {
    for (int b = a + 1; b < communicator.size(); ++b) {
      if (all[size_t(2 * a)] != all[size_t(2 * b)]) continue;
      if (all[size_t(2 * a) + 1] != all[size_t(2 * b) + 1]) continue;
      return FailedPrecondition("ranks ", a, " and ", b,
                                " have the same GPU; NCCL needs a GPU for each rank");
    }
  }
  return absl::OkStatus();
}

// Whether rank 0 has made an id; why not, it knows alone.
absl::Status AgreeOnId(Communicator& communicator, const absl::Status& mine) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int32_t> codes,
                        GatherValues<int32_t>(communicator, int32_t(mine.code())));
  if (!mine.ok() || codes[0] == 0) return mine;
  return absl::Status(absl::StatusCode(codes[0]), "rank 0 could not make a group of GPUs");
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceCollectives>> JoinCollectives(
    Communicator& communicator, DeviceContext& context, std::chrono::milliseconds timeout) {
  DTNN_ASSIGN_OR_RETURN(const Tensor id, Tensor::Zeros(DType::kUint8, {sizeof(CollectiveId)}));
  auto* const bytes = reinterpret_cast<CollectiveId*>(id.raw_data());
  absl::Status status;
  if (communicator.rank() == 0) {
    const absl::StatusOr<CollectiveId> made = DeviceCollectives::NewId(context);
    status = made.status();
    if (made.ok()) *bytes = *made;
  }
  DTNN_RETURN_IF_ERROR(AgreeOnId(communicator, status));
  DTNN_RETURN_IF_ERROR(CheckGpus(communicator, context));
  DTNN_RETURN_IF_ERROR(communicator.Broadcast(id, /*root=*/0));
  const auto check = [&communicator]() -> absl::Status {
    const std::vector<int> lost = communicator.lost();
    if (lost.empty()) return absl::OkStatus();
    return absl::UnavailableError(RankList(lost) + " left or gave up");
  };
  return DeviceCollectives::Create(context, *bytes,
                                   {.rank = communicator.rank(),
                                    .ranks = communicator.size(),
                                    .timeout = timeout,
                                    .check = check});
}

}  // namespace dtnn
