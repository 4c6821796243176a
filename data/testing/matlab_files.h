// Small MATLAB 5 files for tests: a struct array of numbers and texts.

#ifndef DTNN_DATA_TESTING_MATLAB_FILES_H_
#define DTNN_DATA_TESTING_MATLAB_FILES_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace dtnn::testing {

struct MatlabStructs {
  std::string variable = "synsets";
  std::vector<std::string> fields;
  std::vector<std::vector<std::variant<double, std::string>>> rows;  // by field
};

// Numbers are stored in as few bytes as hold them, as MATLAB does.
std::vector<uint8_t> MatlabBytes(const MatlabStructs& structs, bool compressed);

// Synsets as the development kit of ImageNet has them: ILSVRC2012_ID, WNID, words and, to be passed
// over, children.
struct Synset {
  int id;
  std::string wnid, words;
};
std::vector<uint8_t> SynsetBytes(const std::vector<Synset>& synsets, bool compressed = true);

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_MATLAB_FILES_H_
