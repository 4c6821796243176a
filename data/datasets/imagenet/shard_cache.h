// Decoded files that hold many samples each, kept in memory up to a budget: the one used longest
// ago goes first.
//
// Several threads may ask at once; a file that is being decoded is waited for, not decoded twice.
// What is handed out stays alive as long as its user holds it, so the memory taken is at most the
// budget plus one file per thread. A budget below one file keeps none.

#ifndef DTNN_DATA_DATASETS_IMAGENET_SHARD_CACHE_H_
#define DTNN_DATA_DATASETS_IMAGENET_SHARD_CACHE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "tensor/tensor.h"

namespace dtnn {

class ShardCache {
 public:
  using Load = std::function<absl::StatusOr<Tensor>(int64_t shard)>;

  // `load` is called without a lock, by several threads for different shards.
  ShardCache(int64_t budget_bytes, Load load) : budget_(budget_bytes), load_(std::move(load)) {}

  // An error is what `load` answered, or ResourceExhausted where it found no memory; the next call
  // tries again.
  absl::StatusOr<Tensor> Get(int64_t shard);

 private:
  struct Entry {
    Tensor tensor;
    std::list<int64_t>::iterator use;  // its place in uses_
  };

  absl::StatusOr<Tensor> LoadOrFail(int64_t shard) const;
  void Keep(int64_t shard, const Tensor& tensor);

  const int64_t budget_;
  const Load load_;
  std::mutex mutex_;
  std::condition_variable loaded_;
  std::map<int64_t, Entry> entries_;
  std::set<int64_t> loading_;  // shards that a thread decodes now
  std::list<int64_t> uses_;    // most recent first
  int64_t bytes_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_SHARD_CACHE_H_
