// What a kernel meets on a simulated GPU: one thread of a grid, and the warp that it belongs to.
// The names are those of CudaThread and CudaWarp (launch.h), so one source serves both.

#ifndef DTNN_TENSOR_GPU_SIMULATED_THREAD_H_
#define DTNN_TENSOR_GPU_SIMULATED_THREAD_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tensor/gpu/kernel.h"

namespace dtnn::gpu {

// Where the threads of a block wait for each other.
class SimulatedBlock {
 public:
  // Returns the values of all lanes of the thread's warp, once every lane has brought its own;
  // `combine`, unless null, has then replaced them. `what` names the meeting: lanes that meet for
  // different purposes are an error.
  DTNN_HOST_DEVICE virtual const uint64_t* MeetWarp(uint32_t thread, const char* what,
                                                    uint64_t value,
                                                    void (*combine)(uint64_t* lanes)) = 0;
  // Returns whether any thread of the block has brought `value` true.
  DTNN_HOST_DEVICE virtual bool MeetBlock(uint32_t thread, bool value) = 0;
  DTNN_HOST_DEVICE virtual std::byte* shared() = 0;

 protected:
  ~SimulatedBlock() = default;
};

class SimulatedWarp {
 public:
  DTNN_HOST_DEVICE SimulatedWarp(SimulatedBlock* block, uint32_t thread)
      : block_(block), thread_(thread) {}

  DTNN_HOST_DEVICE int64_t lane() const { return thread_ % kWarpSize; }
  DTNN_HOST_DEVICE int64_t size() const { return kWarpSize; }
  DTNN_HOST_DEVICE void Sync() const { block_->MeetWarp(thread_, "Sync", 0, nullptr); }

  // The same order of operations as CudaWarp's.
  template <typename T>
  DTNN_HOST_DEVICE T Sum(T x) const {
    return Combine<T>("Sum", x, [](T a, T b) { return a + b; });
  }
  template <typename T>
  DTNN_HOST_DEVICE T Max(T x) const {
    return Combine<T>("Max", x, [](T a, T b) { return a < b ? b : a; });
  }
  // The value that lane `from` brings.
  template <typename T>
  DTNN_HOST_DEVICE T Shuffle(T x, int64_t from) const {
    return Value<T>(block_->MeetWarp(thread_, "Shuffle", Bits(x), nullptr)[from % kWarpSize]);
  }

 private:
  template <typename T>
  DTNN_HOST_DEVICE static uint64_t Bits(T x) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(T));
    return bits;
  }
  template <typename T>
  DTNN_HOST_DEVICE static T Value(uint64_t bits) {
    T x;
    std::memcpy(&x, &bits, sizeof(T));
    return x;
  }
  template <typename T, class Operation>
  DTNN_HOST_DEVICE T Combine(const char* what, T x, Operation) const {
    const auto butterfly = [](uint64_t* lanes) {
      for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
        T before[kWarpSize];
        for (int i = 0; i < kWarpSize; ++i) before[i] = Value<T>(lanes[i]);
        for (int i = 0; i < kWarpSize; ++i) {
          lanes[i] = Bits(Operation()(before[i], before[i ^ distance]));
        }
      }
    };
    return Value<T>(block_->MeetWarp(thread_, what, Bits(x), butterfly)[lane()]);
  }

  SimulatedBlock* block_;
  uint32_t thread_;
};

class SimulatedThread {
 public:
  DTNN_HOST_DEVICE SimulatedThread(SimulatedBlock* cooperation, Dim3 grid, Dim3 block,
                                   Dim3 block_index, Dim3 thread_index)
      : cooperation_(cooperation),
        grid_(grid),
        block_(block),
        block_index_(block_index),
        thread_index_(thread_index) {}

  DTNN_HOST_DEVICE Dim3 grid() const { return grid_; }
  DTNN_HOST_DEVICE Dim3 block() const { return block_; }
  DTNN_HOST_DEVICE Dim3 block_index() const { return block_index_; }
  DTNN_HOST_DEVICE Dim3 thread_index() const { return thread_index_; }
  // Along x: the number of this thread, and how many there are.
  DTNN_HOST_DEVICE int64_t grid_index() const {
    return int64_t{block_index_.x} * block_.x + thread_index_.x;
  }
  DTNN_HOST_DEVICE int64_t grid_size() const { return int64_t{grid_.x} * block_.x; }

  DTNN_HOST_DEVICE SimulatedWarp warp() const { return {cooperation_, flat_index()}; }
  // Waits for all threads of the block: __syncthreads.
  DTNN_HOST_DEVICE void Barrier() const { cooperation_->MeetBlock(flat_index(), false); }
  // See launch.h. Blocks run one after the other.
  DTNN_HOST_DEVICE bool IsLast(uint32_t* arrived, uint32_t blocks) const {
    Barrier();
    bool last = false;
    if (flat_index() == 0) {
      last = ++*arrived == blocks;
      if (last) *arrived = 0;
    }
    return cooperation_->MeetBlock(flat_index(), last);
  }
  template <typename T>
  DTNN_HOST_DEVICE T* Shared() const {
    return reinterpret_cast<T*>(cooperation_->shared());
  }

  DTNN_HOST_DEVICE uint32_t flat_index() const {
    return (thread_index_.z * block_.y + thread_index_.y) * block_.x + thread_index_.x;
  }

 private:
  SimulatedBlock* cooperation_;
  Dim3 grid_, block_, block_index_, thread_index_;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_THREAD_H_
