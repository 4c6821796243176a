// The communicator does not block: a call may return before it is done, and the thread that made it
// asks until it is, so that a rank that never comes costs a timeout and no more.

#include <nccl.h>

#include <cstring>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "kernels/collective/nccl_collectives.h"
#include "kernels/device/cuda_context.h"
#include "kernels/libraries/library_version.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(CollectiveId));

absl::Status NcclStatus(std::string_view what, ncclResult_t result) {
  if (result == ncclSuccess) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(std::string(what), ": NCCL says ", ncclGetErrorString(result)));
}

absl::Status CheckVersion() {
  int found = 0;
  DTNN_RETURN_IF_ERROR(NcclStatus("asking for its version", ncclGetVersion(&found)));
  return CheckLibraryVersion("NCCL", LibraryVersion::Of(found, 10000, 100),
                             {NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH});
}

class NcclCollectives final : public DeviceCollectives {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceCollectives>> Create(DeviceContext& context,
                                                                   const CollectiveId& id,
                                                                   const CollectivePlace& place) {
    std::unique_ptr<NcclCollectives> made(new NcclCollectives(context, place));
    DTNN_RETURN_IF_ERROR(made->Join(id));
    return made;
  }
  ~NcclCollectives() override {
    Abort();  // unlike an orderly end it never waits for other ranks
    EndStream();
  }

  void Abort() override {
    const std::lock_guard lock(mutex_);
    if (communicator_ != nullptr) (void)ncclCommAbort(communicator_);
    communicator_ = nullptr;
  }

 private:
  NcclCollectives(DeviceContext& context, const CollectivePlace& place)
      : DeviceCollectives(context, place), cuda_(static_cast<CudaContext&>(context)) {}

  absl::Status Join(const CollectiveId& bytes) {
    DTNN_RETURN_IF_ERROR(CheckVersion());
    DTNN_RETURN_IF_ERROR(cuda_.MakeCurrent());
    ncclUniqueId id;
    std::memcpy(&id, bytes.data(), sizeof(id));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    {
      const std::lock_guard lock(mutex_);
      const ncclResult_t result =
          ncclCommInitRankConfig(&communicator_, place().ranks, id, place().rank, &config);
      if (result != ncclInProgress) DTNN_RETURN_IF_ERROR(NcclStatus("joining a group", result));
    }
    return Settle("joining a group");
  }

  // Waits until the last call is done, as far as the host is concerned.
  absl::Status Settle(std::string_view what) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string waits =
        absl::StrCat("NCCL, ", std::string(what), " as rank ", place().rank, " of ", place().ranks);
    while (true) {
      DTNN_ASSIGN_OR_RETURN(const ncclResult_t result, Ask());
      if (result != ncclInProgress) return NcclStatus(what, result);
      DTNN_RETURN_IF_ERROR(MayWait(waits, begin));
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  absl::StatusOr<ncclResult_t> Ask() {
    const std::lock_guard lock(mutex_);
    if (communicator_ == nullptr) return absl::AbortedError("the group has ended");
    ncclResult_t result = ncclSuccess;
    DTNN_RETURN_IF_ERROR(
        NcclStatus("asking for errors", ncclCommGetAsyncError(communicator_, &result)));
    return result;
  }

  absl::Status DoAllReduce(gpu::Stream& stream, const Tensor& tensor) override {
    DTNN_RETURN_IF_ERROR(cuda_.MakeCurrent());
    const ncclDataType_t type = tensor.dtype() == DType::kFloat64 ? ncclFloat64 : ncclFloat32;
    {
      const std::lock_guard lock(mutex_);
      if (communicator_ == nullptr) return absl::AbortedError("the group has ended");
      const ncclResult_t result =
          ncclAllReduce(tensor.raw_data(), tensor.raw_data(), size_t(tensor.num_elements()), type,
                        ncclSum, communicator_, static_cast<cudaStream_t>(stream.native()));
      if (result != ncclInProgress) DTNN_RETURN_IF_ERROR(NcclStatus("all-reduce", result));
    }
    return Settle("all-reduce");  // an event recorded earlier would not include it
  }
  absl::Status CheckGroup() override {
    DTNN_ASSIGN_OR_RETURN(const ncclResult_t result, Ask());
    return result == ncclInProgress ? absl::OkStatus() : NcclStatus("the group", result);
  }

  CudaContext& cuda_;
  std::mutex mutex_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

absl::StatusOr<CollectiveId> NewNcclId() {
  DTNN_RETURN_IF_ERROR(CheckVersion());
  ncclUniqueId id;
  DTNN_RETURN_IF_ERROR(NcclStatus("making a group", ncclGetUniqueId(&id)));
  CollectiveId bytes;
  std::memcpy(bytes.data(), &id, sizeof(id));
  return bytes;
}

absl::StatusOr<std::unique_ptr<DeviceCollectives>> CreateNcclCollectives(
    DeviceContext& context, const CollectiveId& id, const CollectivePlace& place) {
  return NcclCollectives::Create(context, id, place);
}

}  // namespace dtnn
