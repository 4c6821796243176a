#include "models/training/ranks/communicator_exchange.h"

#include <cstring>

namespace dtnn {

absl::Status CommunicatorExchange::Sum(const Tensor& tensor) {
  return left_ ? absl::OkStatus() : communicator_->AllReduce(tensor);
}

absl::Status CommunicatorExchange::Gather(const Tensor& mine, const Tensor& all) {
  if (!left_) return communicator_->AllGather(mine, all);
  const size_t part = size_t(mine.num_elements()) * SizeOf(mine.dtype());
  for (int rank = 0; rank < ranks(); ++rank) {
    std::byte* const to = all.raw_data() + size_t(rank) * part;
    if (rank != this->rank()) {
      std::memset(to, 0, part);
    } else if (to != mine.raw_data()) {
      std::memcpy(to, mine.raw_data(), part);
    }
  }
  return absl::OkStatus();
}

}  // namespace dtnn
