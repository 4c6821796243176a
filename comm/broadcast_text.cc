#include "comm/broadcast_text.h"

#include <algorithm>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

}  // namespace

absl::StatusOr<std::string> BroadcastText(Communicator& communicator, std::string_view text,
                                          int root) {
  DTNN_ASSIGN_OR_RETURN(const Tensor size, Tensor::Zeros(DType::kInt64, Shape{1}));
  *size.data<int64_t>() = int64_t(text.size());
  DTNN_RETURN_IF_ERROR(communicator.Broadcast(size, root));
  const int64_t count = *size.data<int64_t>();
  if (count < 0 || count > kMostBytes) {
    return InvalidArgument("rank ", root, " has a text of ", count,
                           " bytes for all ranks; at most ", kMostBytes, " are shared");
  }
  if (count == 0) return std::string();
  DTNN_ASSIGN_OR_RETURN(const Tensor bytes, Tensor::Zeros(DType::kUint8, Shape{count}));
  if (communicator.rank() == root) std::ranges::copy(text, bytes.data<uint8_t>());
  DTNN_RETURN_IF_ERROR(communicator.Broadcast(bytes, root));
  return std::string(bytes.data<uint8_t>(), bytes.data<uint8_t>() + count);
}

}  // namespace dtnn
