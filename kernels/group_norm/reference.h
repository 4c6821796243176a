// GroupNorm in plain loops and double precision: the definition that implementations are tested
// against. Images are (n, pixels, channels), or (n, channels, pixels) where `planes`.

#ifndef DTNN_KERNELS_GROUP_NORM_REFERENCE_H_
#define DTNN_KERNELS_GROUP_NORM_REFERENCE_H_

#include <cmath>
#include <cstddef>
#include <vector>

namespace dtnn::reference {

struct GroupNorm {
  using Values = std::vector<double>;

  size_t n, pixels, channels, groups;
  bool per_pixel, planes;
  double epsilon;

  size_t At(size_t i, size_t pixel, size_t c) const {
    return planes ? (i * channels + c) * pixels + pixel : (i * pixels + pixel) * channels + c;
  }
  // Calls body(elements) with the places and channels of each set.
  struct Element {
    size_t at, channel;
  };
  template <class Body>
  void ForEachSet(const Body& body) const {
    const size_t size = channels / groups;
    for (size_t i = 0; i < n; ++i) {
      for (size_t g = 0; g < groups; ++g) {
        for (size_t first = 0; first < pixels; first += per_pixel ? 1 : pixels) {
          std::vector<Element> set;
          for (size_t pixel = first; pixel < (per_pixel ? first + 1 : pixels); ++pixel) {
            for (size_t c = g * size; c < (g + 1) * size; ++c) set.push_back({At(i, pixel, c), c});
          }
          body(set);
        }
      }
    }
  }
  // z of every element, and 1 / s.
  void Normalise(const Values& x, Values& z, Values& inverse) const {
    z = inverse = Values(x.size());
    ForEachSet([&](const std::vector<Element>& set) {
      double mean = 0, variance = 0;
      for (const Element& e : set) mean += x[e.at] / double(set.size());
      for (const Element& e : set) {
        variance += (x[e.at] - mean) * (x[e.at] - mean) / double(set.size());
      }
      for (const Element& e : set) {
        inverse[e.at] = 1 / std::sqrt(variance + epsilon);
        z[e.at] = (x[e.at] - mean) * inverse[e.at];
      }
    });
  }

  Values Forward(const Values& x, const Values& gamma, const Values& beta) const {
    Values z, inverse, y(x.size());
    Normalise(x, z, inverse);
    ForEachSet([&](const std::vector<Element>& set) {
      for (const Element& e : set) y[e.at] = gamma[e.channel] * z[e.at] + beta[e.channel];
    });
    return y;
  }

  // Returns dx.
  Values Backward(const Values& x, const Values& dy, const Values& gamma, Values& dgamma,
                  Values& dbeta) const {
    Values z, inverse, dx(x.size());
    Normalise(x, z, inverse);
    dgamma = dbeta = Values(channels);
    ForEachSet([&](const std::vector<Element>& set) {
      double sum = 0, product = 0;
      for (const Element& e : set) {
        dbeta[e.channel] += dy[e.at];
        dgamma[e.channel] += dy[e.at] * z[e.at];
        sum += gamma[e.channel] * dy[e.at] / double(set.size());
        product += gamma[e.channel] * dy[e.at] * z[e.at] / double(set.size());
      }
      for (const Element& e : set) {
        dx[e.at] = (gamma[e.channel] * dy[e.at] - sum - z[e.at] * product) * inverse[e.at];
      }
    });
    return dx;
  }
};

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_GROUP_NORM_REFERENCE_H_
