// Sums over the elements of each channel of an activation, with the same bits in every run.
//
//   ReduceChannels   body.Add(at, body.Load(at), body.Keep(at), sums) for every vector of a grid,
//                    then finish(channel, sums) once per channel
//
// The first kernel sums in registers and then in shared memory, and writes the sums of each block
// as (part, sum, channel); the second adds the parts in order. There are no atomics, and the number
// of parts follows from the extents alone.
//
// Beside what ForEachVector asks for (vectors.h), a body has
//
//   using Sum = float or double; static constexpr int kSums        sums per channel
//   void Add(VectorCell, const Loaded&, const Kept&, Sum (&sums)[kSums][kLanes]) const
//
// and what finishes is a struct with Declare(int64_t channels, Accesses&) and
// void operator()(int64_t channel, const double (&sums)[kSums]) const.

#ifndef DTNN_TENSOR_GPU_REDUCE_CHANNELS_H_
#define DTNN_TENSOR_GPU_REDUCE_CHANNELS_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "tensor/gpu/vectors.h"

namespace dtnn::gpu {
inline namespace DTNN_GPU_COMPILER {

// Memory for the sums of the blocks.
struct ReducedParts {
  double* sums;
  int64_t channels, parts;

  static ReducedParts Of(double* sums, const VectorExtents& extents, const VectorGrid& grid) {
    // Vectors of a thread; blocks: two or three rounds of those that an H100 has room for.
    constexpr uint32_t kLeast = 8, kMostBlocks = 768;
    const bool planes = extents.order == VectorExtents::Order::kPlanes;
    return {sums, planes ? extents.groups : extents.columns, grid.Parts(kLeast, kMostBlocks)};
  }
  // Doubles that a reduction of up to so large extents takes, with vectors of any length.
  static int64_t MostDoubles(const VectorExtents& extents, int sums, int full_vector) {
    int64_t most = 0;
    for (const int vector : {1, full_vector}) {
      const ReducedParts parts = Of(nullptr, extents, VectorGrid::Of(extents, vector));
      most = std::max(most, parts.parts * parts.channels * sums);
    }
    return most;
  }
  DTNN_HOST_DEVICE int64_t At(int64_t part, int sum, int sums, int64_t channel) const {
    return (part * sums + sum) * channels + channel;
  }
};

template <class Body>
struct SumsOfBlocks {
  static constexpr uint32_t kThreads = VectorGrid::kThreads;
  static constexpr Cooperation kCooperation = Cooperation::kBlock;
  static constexpr int kLanes = Body::kLanes, kSums = Body::kSums;
  using Sum = typename Body::Sum;
  // A thread's sums, in shared memory.
  struct Sums {
    Sum of[kSums][kLanes];
  };
  static constexpr uint32_t kAdders = 16;
  static size_t SharedBytes(const VectorGrid& grid) {
    return grid.threads() * sizeof(Sums) + (grid.planes() ? kSums * kAdders * sizeof(double) : 0);
  }

  VectorGrid grid;
  Body body;
  ReducedParts to;

  void Declare(Accesses& accesses) {
    body.Declare(grid, accesses);
    accesses.Writes(to.sums, to.parts * kSums * to.channels);
  }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    const VectorWalk walk(grid, thread);
    Sums sums = {};
    if (walk.first().column < grid.columns) {
      const auto kept = body.Keep(walk.first());
      walk.template Each<Body::kAhead>(
          body, [&](const VectorCell& cell, const typename Body::Loaded& loaded) {
            body.Add(cell, loaded, kept, sums.of);
          });
    }
    Sums* const shared = thread.template Shared<Sums>();
    const uint32_t own = thread.thread_index().x;
    shared[own] = sums;
    thread.Barrier();
    if (grid.planes()) {
      AddAll(thread, shared);
    } else {
      AddRows(walk, shared, own);
    }
  }

 private:
  // A channel is a lane of an element of a vector: the rows of the block are added in order.
  DTNN_HOST_DEVICE void AddRows(const VectorWalk& walk, const Sums* shared, uint32_t own) const {
    const uint32_t first = walk.first().column - walk.lane();
    const uint32_t channels = grid.lanes * kLanes;
    for (uint32_t i = own; i < channels * kSums; i += grid.threads()) {
      const uint32_t sum = i / channels, channel = i % channels, lane = channel / kLanes;
      if (first + lane >= grid.columns) continue;
      double total = 0;
      for (uint32_t row = 0; row < grid.deep; ++row) {
        total += double(shared[row * grid.lanes + lane].of[sum][channel % kLanes]);
      }
      to.sums[to.At(walk.part(), int(sum), kSums, int64_t(first) * kLanes + channel)] = total;
    }
  }
  // The whole block has one channel: 16 threads add up the sums of a sixteenth each, and one
  // theirs.
  template <class Thread>
  DTNN_HOST_DEVICE void AddAll(const Thread& thread, Sums* shared) const {
    const uint32_t own = thread.thread_index().x;
    double total[kSums] = {};
    for (uint32_t i = own; own < kAdders && i < grid.threads(); i += kAdders) {
      for (int sum = 0; sum < kSums; ++sum) {
        for (int lane = 0; lane < kLanes; ++lane) total[sum] += double(shared[i].of[sum][lane]);
      }
    }
    double* const totals = reinterpret_cast<double*>(shared + grid.threads());
    for (int sum = 0; own < kAdders && sum < kSums; ++sum) {
      totals[uint32_t(sum) * kAdders + own] = total[sum];
    }
    thread.Barrier();
    if (own >= kSums) return;
    double all = 0;
    for (uint32_t i = 0; i < kAdders; ++i) all += totals[own * kAdders + i];
    const Dim3 block = thread.block_index();
    to.sums[to.At(block.x, int(own), kSums, block.y)] = all;
  }
};

// 8 channels and up to 32 ranges of parts per block, which a thread has many loads of in flight.
template <int kSums, class Finish>
struct SumOfParts {
  static constexpr uint32_t kThreads = kThreadsPerBlock;
  static constexpr Cooperation kCooperation = Cooperation::kBlock;
  static constexpr uint32_t kChannels = 8, kSlicesPerWarp = kWarpSize / kChannels;
  static constexpr int kAhead = 8;

  ReducedParts from;
  const double* sums;
  uint32_t slices;
  Finish finish;

  DTNN_HOST_DEVICE uint32_t threads() const { return slices * kChannels; }
  size_t shared_bytes() const { return threads() * kSums * sizeof(double); }

  void Declare(Accesses& accesses) {
    accesses.Reads(sums, from.parts * kSums * from.channels);
    finish.Declare(from.channels, accesses);
  }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    const uint32_t own = thread.thread_index().x, slice = own / kChannels;
    const int64_t channel = int64_t(thread.block_index().x) * kChannels + own % kChannels;
    double total[kSums] = {};
    if (channel < from.channels) AddSlice(slice, channel, total);
    double* const shared = thread.template Shared<double>();
    for (int sum = 0; sum < kSums; ++sum) shared[uint32_t(sum) * threads() + own] = total[sum];
    thread.Barrier();
    if (slice != 0 || channel >= from.channels) return;
    for (int sum = 0; sum < kSums; ++sum) {
      for (uint32_t each = 1; each < slices; ++each) {
        total[sum] += shared[uint32_t(sum) * threads() + each * kChannels + own];
      }
    }
    finish(channel, total);
  }

 private:
  DTNN_HOST_DEVICE void AddSlice(uint32_t slice, int64_t channel, double (&total)[kSums]) const {
    for (int64_t part = slice; part < from.parts; part += kAhead * slices) {
      double loaded[kAhead][kSums] = {};
      DTNN_GPU_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        const int64_t each = part + int64_t(k) * slices;
        if (each >= from.parts) continue;
        for (int sum = 0; sum < kSums; ++sum) {
          loaded[k][sum] = sums[from.At(each, sum, kSums, channel)];
        }
      }
      DTNN_GPU_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        for (int sum = 0; sum < kSums; ++sum) total[sum] += loaded[k][sum];
      }
    }
  }
};

// `scratch`: ReducedParts::MostDoubles or more. Without elements the sums are 0.
template <class Body, class Finish>
absl::Status ReduceChannels(Stream& stream, std::string_view name, std::string_view finish_name,
                            const VectorExtents& extents, const Body& body, double* scratch,
                            const Finish& finish) {
  if (absl::Status status = VectorGrid::Check(extents); !status.ok()) return status;
  const VectorGrid grid = VectorGrid::Of(extents, Body::kLanes);
  ReducedParts parts = ReducedParts::Of(scratch, extents, grid);
  if (parts.channels <= 0) return absl::OkStatus();
  if (extents.size() > 0) {
    using First = SumsOfBlocks<Body>;
    const First first = {grid, body, parts};
    absl::Status status =
        stream.Launch(KernelOf(name, {uint32_t(parts.parts), grid.size_y()}, {grid.threads()},
                               First::SharedBytes(grid), first));
    if (!status.ok()) return status;
  } else {
    parts.parts = 0;
  }
  using Last = SumOfParts<Body::kSums, Finish>;
  const int64_t warps = (parts.parts + Last::kSlicesPerWarp - 1) / Last::kSlicesPerWarp;
  const uint32_t slices =
      Last::kSlicesPerWarp * uint32_t(std::clamp<int64_t>(warps, 1, Last::kThreads / kWarpSize));
  const Last last = {{nullptr, parts.channels, parts.parts}, scratch, slices, finish};
  return stream.Launch(
      KernelOf(finish_name, {uint32_t((parts.channels + Last::kChannels - 1) / Last::kChannels)},
               {last.threads()}, last.shared_bytes(), last));
}

}  // namespace DTNN_GPU_COMPILER
}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_REDUCE_CHANNELS_H_
