// Random shares of a whole: of Dirichlet and log-normal distributions.

#ifndef DTNN_DATA_LOADING_DIVISION_RANDOM_SHARES_H_
#define DTNN_DATA_LOADING_DIVISION_RANDOM_SHARES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/philox.h"

namespace dtnn {

// `count` shares that add up to 1: of a symmetric Dirichlet distribution, as gamma variates over
// their sum. alpha > 0.
std::vector<double> DirichletShares(const Philox& random, double alpha, int64_t count);

// The same of exp(sigma z), z standard normal.
std::vector<double> LogNormalShares(const Philox& random, double sigma, int64_t count);

// Cuts a list into pieces of these shares: piece i is [ends[i - 1], ends[i]), the last end is
// `size`, and each differs by less than one from its share.
std::vector<int64_t> EndsOfShares(std::span<const double> shares, int64_t size);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_DIVISION_RANDOM_SHARES_H_
