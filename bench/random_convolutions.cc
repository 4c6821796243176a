#include "bench/random_convolutions.h"

#include <algorithm>
#include <initializer_list>
#include <random>

#include "absl/strings/str_cat.h"

namespace dtnn {
namespace {

constexpr double kMostFlops = 8e9;
constexpr int64_t kMostElements = int64_t{1} << 25;  // of x and of y

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Conv2dSpec Next() {
    Conv2dSpec s;
    do {
      s = Conv2dSpec();
      s.batch = Of({1, 1, 4, 8, 16, 32, 64});
      switch (Below(10)) {
        case 0:  // a first layer
          s.channels = Of({1, 3, 3, 3, 4});
          s.filters = Of({16, 24, 32, 48, 64, 96});
          s.kernel = Of({3, 5, 7, 11});
          s.stride = Of({1, 2, 2, 4});
          s.height = s.width = Of({28, 32, 64, 112, 224, 227});
          break;
        case 1:
        case 2:
          s.kernel = 1;
          s.stride = Of({1, 1, 1, 2});
          Channels(s);
          break;
        case 3:
          s.kernel = Of({3, 3, 5, 7});
          s.stride = Of({1, 2});
          Channels(s);
          s.filters = s.groups = s.channels;
          break;
        case 4: {
          const int64_t length = Of({3, 7});
          s.kernel = Below(2) == 0 ? Pair(1, length) : Pair(length, 1);
          Channels(s);
          break;
        }
        case 5:
          s.kernel = Of({5, 5, 7});
          Channels(s);
          break;
        default:
          s.kernel = 3;
          s.stride = Of({1, 1, 1, 2});
          Channels(s);
      }
      if (s.stride == Pair(1) && Below(12) == 0) s.dilation = Of({2, 2, 4, 6, 12, 18});
      s.padding = Pair(s.kernel.vertical / 2 * s.dilation.vertical,
                       s.kernel.horizontal / 2 * s.dilation.horizontal);
      if (Below(8) == 0) s.padding = 0;
    } while (!s.Validate().ok() || s.Flops() > kMostFlops ||
             s.InputShape().NumElements() > kMostElements ||
             s.OutputShape().NumElements() > kMostElements);
    return s;
  }

 private:
  int64_t Below(uint64_t n) { return int64_t(random_() % n); }
  int64_t Of(std::initializer_list<int64_t> values) { return values.begin()[Below(values.size())]; }
  // Small maps have many channels, as they do in networks.
  void Channels(Conv2dSpec& s) {
    s.height = s.width = Of({4, 7, 8, 13, 14, 17, 28, 32, 35, 56, 64, 112});
    if (Below(6) == 0) s.width += Below(9);
    const int64_t most = std::clamp<int64_t>(8192 / s.height, 64, 1024);
    s.channels = AnyChannels(most);
    s.filters = AnyChannels(most);
  }
  int64_t AnyChannels(int64_t most) {
    const int64_t even =
        Of({12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024});
    return std::min(most, Below(8) == 0 ? even + Below(8) : even);
  }

  std::mt19937_64 random_;
};

}  // namespace

std::vector<NamedConvolution> RandomConvolutions(int64_t count, uint64_t seed) {
  Generator generator(seed);
  std::vector<NamedConvolution> shapes;
  for (int64_t i = 0; i < count; ++i) {
    NamedConvolution shape;
    shape.spec = generator.Next();
    shape.name = absl::StrCat("random", seed, "/", shape.spec.ToString());
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace dtnn
