// Which operations of a simulated GPU are ordered: vector clocks, and a record of the last accesses
// to memory, so that two operations that touch the same bytes, one of them writing, and that
// nothing orders, are found when the second is queued, whatever the two do in time.

#ifndef DTNN_TENSOR_GPU_SIMULATED_HAPPENS_BEFORE_H_
#define DTNN_TENSOR_GPU_SIMULATED_HAPPENS_BEFORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensor/gpu/kernel.h"

namespace dtnn::gpu {

// Per stream, how many of its operations came before.
class Clock {
 public:
  uint64_t operator[](size_t stream) const { return stream < counts_.size() ? counts_[stream] : 0; }
  // The number of the stream's next operation.
  uint64_t Tick(size_t stream);
  // What came before `other` came before this, too.
  void Merge(const Clock& other);
  bool Covers(const Clock& other) const;

 private:
  std::vector<uint64_t> counts_;
};

struct Operation {
  std::string name;  // kernel "add" on stream compute
  size_t stream = 0;
  uint64_t number = 0;  // of its stream's operations

  bool Before(const Clock& clock) const { return number <= clock[stream]; }
};

// A part of an allocation (its number) that an operation touches.
struct Touch {
  uint64_t allocation = 0;
  std::string what;  // the allocation, in words
  Access access;
};

// Whether two runs of rows have a byte in common.
bool Overlap(const Access& a, const Access& b);

class AccessHistory {
 public:
  // FailedPrecondition, naming both operations and the memory, where an earlier operation conflicts
  // with this one, which has come after `clock`. Else remembers it.
  absl::Status Add(std::shared_ptr<const Operation> operation, const Clock& clock,
                   std::span<const Touch> touches);
  void Forget(uint64_t allocation) { records_.erase(allocation); }
  // Operations before `clock`, after which everything comes from now on.
  void ForgetBefore(const Clock& clock);
  size_t size() const;  // records kept

 private:
  struct Record {
    std::shared_ptr<const Operation> operation;
    Access access;
  };

  std::map<uint64_t, std::vector<Record>> records_;  // by allocation
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_HAPPENS_BEFORE_H_
