// What a tuner has decided, and the file that keeps it from run to run: a line per key, with the
// candidate chosen and the median of each candidate's calls in microseconds.
//
//   conv2d/forward/n64h8w8c64_k64r3s3p1x1_nhwc_f32_bias/t2/AVX512@AuthenticAMD-25-17 winograd
//   gemm=812.4 winograd=401.2
//
// Lines that begin with '#' and empty lines mean nothing. The lines of machines with another number
// of threads, another processor or other instructions stay side by side, so one file may serve
// several.

#ifndef DTNN_KERNELS_BEST_OF_DECISIONS_H_
#define DTNN_KERNELS_BEST_OF_DECISIONS_H_

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

// Everything that the answer depends on. Words are of printable ASCII without blanks and "/=#".
struct BestOfKey {
  // A key of this process: its machine, and the threads that the caller may use.
  static BestOfKey Here(std::string_view operation, std::string_view direction,
                        std::string_view problem);

  std::string operation;  // "conv2d"
  std::string direction;  // "forward"
  std::string problem;    // sizes and whatever else the operation is made for
  int threads = 1;
  // SimdTarget() and ProcessorModel(): "AVX512@AuthenticAMD-25-17"; or a kind of GPU and a library
  // with its version: "gpu:NVIDIA_H100-cudnn91900".
  std::string machine;

  bool of_gpu() const { return machine.starts_with("gpu:"); }

  // "conv2d/forward/<problem>/t2/<machine>"
  std::string ToString() const;
  friend auto operator<=>(const BestOfKey&, const BestOfKey&) = default;
  friend bool operator==(const BestOfKey&, const BestOfKey&) = default;
};

struct CandidateTime {
  std::string name;
  std::optional<double> microseconds;  // nothing: never measured; "-" in the file
};

struct Decision {
  std::string chosen;                     // one of the candidates
  std::vector<CandidateTime> candidates;  // first the one that would run without a tuner
};

class Decisions {
 public:
  // `name`, of a file, begins the errors, which name the line too: InvalidArgument for a line
  // that is not a decision, for a key that comes twice, and for a choice that is not among its
  // candidates.
  static absl::StatusOr<Decisions> Parse(std::string_view text, std::string_view name);
  // NotFound where there is no such file.
  static absl::StatusOr<Decisions> Load(std::string_view path);

  // In the order of the keys; Parse reads it back.
  std::string ToString() const;
  absl::Status Save(std::string_view path) const;

  // Those of this process's machine and threads, and those of GPUs.
  Decisions Here() const;
  // Null where nothing is decided.
  const Decision* Find(const BestOfKey& key) const;
  // Keeps the decision that is there already. The reference stays valid.
  const Decision& Add(const BestOfKey& key, Decision decision);
  const std::map<BestOfKey, Decision>& all() const { return decisions_; }

 private:
  std::map<BestOfKey, Decision> decisions_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BEST_OF_DECISIONS_H_
