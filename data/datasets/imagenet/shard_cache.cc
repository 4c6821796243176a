#include "data/datasets/imagenet/shard_cache.h"

#include <new>

#include "tensor/dtype.h"

namespace dtnn {
namespace {

int64_t Bytes(const Tensor& tensor) {
  return tensor.num_elements() * int64_t(SizeOf(tensor.dtype()));
}

}  // namespace

// An exception would leave the others waiting for the shard.
absl::StatusOr<Tensor> ShardCache::LoadOrFail(int64_t shard) const {
  try {
    return load_(shard);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to read it");
  }
}

absl::StatusOr<Tensor> ShardCache::Get(int64_t shard) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (const auto found = entries_.find(shard); found != entries_.end()) {
      uses_.splice(uses_.begin(), uses_, found->second.use);
      return found->second.tensor;
    }
    if (!loading_.contains(shard)) break;
    loaded_.wait(lock);
  }
  loading_.insert(shard);
  lock.unlock();
  absl::StatusOr<Tensor> tensor = LoadOrFail(shard);
  lock.lock();
  loading_.erase(shard);
  if (tensor.ok()) Keep(shard, *tensor);
  loaded_.notify_all();
  return tensor;
}

void ShardCache::Keep(int64_t shard, const Tensor& tensor) {
  if (Bytes(tensor) > budget_) return;
  bytes_ += Bytes(tensor);
  while (bytes_ > budget_) {
    const auto oldest = entries_.find(uses_.back());
    bytes_ -= Bytes(oldest->second.tensor);
    entries_.erase(oldest);
    uses_.pop_back();
  }
  uses_.push_front(shard);
  entries_[shard] = {tensor, uses_.begin()};
}

}  // namespace dtnn
