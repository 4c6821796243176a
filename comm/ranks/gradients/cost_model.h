// Formulas for the time of an all-reduce, and of a training step whose gradients are reduced during
// the backward pass, on any number of ranks: for planning a run and for comparing with
// measurements.
//
// A message of n bytes takes latency + n * seconds_per_byte (Hockney, Parallel Computing 20, 1994);
// sending and receiving overlap, and no two messages share a link but those of one node. With p
// ranks, a = latency, b = seconds per byte, c = seconds per byte added up:
//   ring               2 (p - 1) a + 2 (p - 1) / p n b + (p - 1) / p n c
//                      (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009)
//   halving-doubling   2 lg p a + 2 (p - 1) / p n b + (p - 1) / p n c for powers of two, with the
//                      nearest ranks first. Else the p - 2^k ranks too many first halve with a
//                      neighbour, hand him their half, and get the result at the end: 3 a + 2 n b
//                      + n / 2 c more (Rabenseifner, ICCS 2004; Thakur, Rabenseifner and Gropp,
//                      Int. J. High Perform. Comput. Appl. 19, 2005)
//   hierarchical       halving-doubling in each node and, a slice each, among the ranks of the same
//                      place in all nodes, then an all-gather in each node, rank by rank (after
//                      Mikami et al., arXiv:1811.05233, 2018)
// Ranks are numbered node by node; what leaves a node at the same time shares its link.

#ifndef DTNN_COMM_RANKS_GRADIENTS_COST_MODEL_H_
#define DTNN_COMM_RANKS_GRADIENTS_COST_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "comm/all_reduce_algorithm.h"
#include "comm/ranks/gradients/gradient_reducer.h"

namespace dtnn {

struct LinkCost {
  double latency = 0;  // seconds
  double seconds_per_byte = 0;

  double Seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
};

struct Cluster {
  int64_t ranks = 1, ranks_per_node = 1;
  LinkCost network = {}, node = {};   // from node to node; within one
  double seconds_per_byte_added = 0;  // adding what was received to what is there
};

// The cost of an all-reduce as if it were one message: all of them are linear in its bytes. Takes
// O(p lg p).
LinkCost AllReduceCost(AllReduceAlgorithm algorithm, const Cluster& cluster);

// Likewise of a sum up a binary tree and a broadcast down it, in whole messages over the network:
// 2 lg p (a + n b) + lg p n c, lg rounded up. No communicator here works so; simple ones do.
LinkCost TreeAllReduceCost(const Cluster& cluster);

// One training step of one rank on its own.
struct StepProfile {
  struct Event {
    int64_t from = 0;    // all gradients from this element on are final ...
    double seconds = 0;  // ... so long after the step's begin
  };
  std::vector<Event> ready = {};  // in time; from ends at 0
  double backward_seconds = 0;    // when the backward pass ends, since the step's begin
  double update_seconds = 0;      // of all parameters
  // The share of the backward pass's processor time that a simultaneous exchange takes for copies,
  // sums and protocols. From 0 to less than 1.
  double exchange_load = 0;
  DType dtype = DType::kFloat32;
  int64_t elements = 0;  // of the gradients
};

struct StepPrediction {
  double seconds = 0;
  double exposed_seconds = 0;  // waiting for the exchange
};

// Like GradientReducer: a bucket starts when it is final and the previous one has ended, slows down
// the rest of the backward pass, and is followed by its part of the update. Blocking: buckets start
// after the backward pass, each when the update of the previous one is done.
StepPrediction PredictStep(const StepProfile& profile, int64_t bucket_bytes, bool blocking,
                           absl::FunctionRef<double(double bytes)> all_reduce_seconds);

// The largest of 64 KiB, 128 KiB, ... whose step is within a thousandth of the shortest; nothing
// larger than needed to hold all gradients at once.
int64_t BestBucketBytes(const StepProfile& profile, bool blocking,
                        absl::FunctionRef<double(double bytes)> all_reduce_seconds);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GRADIENTS_COST_MODEL_H_
