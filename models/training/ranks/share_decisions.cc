#include "models/training/ranks/share_decisions.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "tensor/errors.h"
#include "tensor/tensor.h"

namespace dtnn {

absl::Status ShareDecisions(Communicator& communicator, BestOf& best_of) {
  const bool speaks = communicator.rank() == 0;
  const std::string mine = best_of.decisions().Here().ToString();  // at least a title
  DTNN_ASSIGN_OR_RETURN(const Tensor size, Tensor::Zeros(DType::kInt64, Shape{1}));
  *size.data<int64_t>() = int64_t(mine.size());
  DTNN_RETURN_IF_ERROR(communicator.Broadcast(size, /*root=*/0));
  DTNN_ASSIGN_OR_RETURN(const Tensor bytes,
                        Tensor::Zeros(DType::kUint8, Shape{*size.data<int64_t>()}));
  if (speaks) std::ranges::copy(mine, bytes.data<uint8_t>());
  DTNN_RETURN_IF_ERROR(communicator.Broadcast(bytes, /*root=*/0));
  if (speaks) return absl::OkStatus();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data<uint8_t>()),
                              size_t(bytes.num_elements()));
  DTNN_ASSIGN_OR_RETURN(const Decisions decisions, Decisions::Parse(text, "decisions of rank 0"));
  best_of.Adopt(decisions);
  return absl::OkStatus();
}

}  // namespace dtnn
