// The classes of ImageNet's 2012 challenge, from its development kit.
//
// A class is a synset of WordNet ("n01440764": tench). The kit numbers them 1 to 1000 in an order
// of its own; here they are numbered from 0 in the order of their names, as in the preprocessed
// files of other frameworks and in published weights. `place` leads from one to the other.

#ifndef DTNN_DATA_DATASETS_IMAGENET_IMAGENET_SYNSETS_H_
#define DTNN_DATA_DATASETS_IMAGENET_IMAGENET_SYNSETS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

struct ImagenetSynsets {
  std::vector<std::string> names;   // "n01440764", sorted
  std::vector<std::string> words;   // "tench, Tinca tinca", in the same order
  std::vector<int32_t> place;       // of the kit's number: place[number - 1] is its index in names
  std::vector<int32_t> validation;  // index in names of each validation image
};

// From a folder that holds ILSVRC2012_devkit_t12.tar.gz or what it unpacks to,
// ILSVRC2012_devkit_t12/data/{meta.mat, ILSVRC2012_validation_ground_truth.txt}. NotFound names
// these; errors in the files name the file.
absl::StatusOr<ImagenetSynsets> ReadImagenetSynsets(const std::string& folder);

// The bytes of those two files, for ReadImagenetSynsets and tests.
absl::StatusOr<ImagenetSynsets> ParseImagenetSynsets(std::span<const uint8_t> meta,
                                                     std::string_view ground_truth,
                                                     std::string_view name);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_IMAGENET_SYNSETS_H_
