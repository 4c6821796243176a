// What one split of a data set is, in a few numbers: whether two processes, perhaps at different
// times and on different hosts, train on the same samples.
//
// The samples themselves are looked at rather than names and sizes of files, which are those of
// MNIST and of Fashion-MNIST alike, and which change when an archive is unpacked or a folder moves.
// Data in memory are hashed whole up to 2^26 values, larger ones by as many samples as that, spread
// evenly over the split; of images that have to be decoded 32 are looked at, of groups of samples
// (compressed files) 3.

#ifndef DTNN_DATA_LOADING_FINGERPRINT_H_
#define DTNN_DATA_LOADING_FINGERPRINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "tensor/format.h"

namespace dtnn {

struct DataFingerprint {
  std::string dataset = {};  // as `--dataset` spells it; empty: nobody looked
  ImageExtents sample = {};
  int64_t outputs = 0;
  TargetKind targets = TargetKind::kClass;
  int64_t samples = 0;  // of the split
  // A hash of samples, with what is to be predicted, and of the names of classes where these number
  // them.
  uint64_t contents = 0;

  friend bool operator==(const DataFingerprint&, const DataFingerprint&) = default;
};

// The same on any number of threads and on any processor. Errors are the data set's.
absl::StatusOr<DataFingerprint> Fingerprint(const Dataset& dataset, Split split);

// A setting that is not what it was, for messages.
struct Difference {
  std::string what, was, now;

  friend bool operator==(const Difference&, const Difference&) = default;
};

// The first field that differs; nullopt where both are the same.
std::optional<Difference> FirstDifference(const DataFingerprint& was, const DataFingerprint& now);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_FINGERPRINT_H_
