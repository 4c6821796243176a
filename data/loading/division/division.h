// How the samples of a data set are divided among clients that do not share it (`--split`,
// `--dataset-part`), in experiments with federations. Every sample belongs to at most one client; a
// client may have none. A division is a function of its text and the data alone.
//
//   equal             random parts, whose sizes differ by at most one
//   dirichlet:ALPHA   of each label, clients have shares that a symmetric Dirichlet distribution
//                     draws: the smaller ALPHA, the fewer clients have most of a label (Yurochkin
//                     et al., "Bayesian nonparametric federated learning of neural networks", 2019)
//   labels:K          samples of K labels per client; those of a label are divided equally among
//                     the clients that have it (McMahan et al., 2017, with shards of a label)
//   sizes:SIGMA       random parts, whose sizes are log-normal: the logarithm has that deviation
//   file:FILE         a line per client, with the numbers of its samples, from 0, separated by
//                     commas or blanks
//
// dirichlet, labels and sizes take a seed after one more colon: dirichlet:0.3:7.

#ifndef DTNN_DATA_LOADING_DIVISION_DIVISION_H_
#define DTNN_DATA_LOADING_DIVISION_DIVISION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

enum class DivisionKind : uint8_t { kEqual, kDirichlet, kLabels, kSizes, kFile };

struct Division {
  DivisionKind kind = DivisionKind::kEqual;
  double number = 0;  // ALPHA, K or SIGMA
  std::string file = {};
  uint64_t seed = 0;
};

// InvalidArgument, which says what is expected, for other texts.
absl::StatusOr<Division> ParseDivision(std::string_view text);

// The numbers of the samples of each of `parts` clients, ascending, out of 0 .. n - 1. `labels`:
// the class of each; empty: not known, which dirichlet and labels refuse. InvalidArgument for a
// division that these samples cannot have; what is wrong with a file is said with its line. Cost:
// n + parts x labels steps.
absl::StatusOr<std::vector<std::vector<int64_t>>> DivideSamples(const Division& division, int64_t n,
                                                                std::span<const int32_t> labels,
                                                                int64_t parts);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_DIVISION_DIVISION_H_
