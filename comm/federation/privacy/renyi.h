// How much Gaussian noise tells of one client: Renyi differential privacy, added up over releases.
//
// A release is a sum to which each client adds a vector of at most length 1, or nothing, and noise
// with a normal distribution of deviation `noise` in each coordinate. Two sums that differ by one
// client are told apart no better than (epsilon, delta) says. Where a client takes part with
// probability `sampling`, each by a coin of its own, and it stays secret which did, less is
// revealed (Mironov, Talwar and Zhang, "Renyi differential privacy of the sampled Gaussian
// mechanism", 2019, at integer orders); epsilon by Canonne, Kamath and Steinke, "The discrete
// Gaussian for differential privacy", 2020.

#ifndef DTNN_COMM_FEDERATION_PRIVACY_RENYI_H_
#define DTNN_COMM_FEDERATION_PRIVACY_RENYI_H_

#include <cstdint>
#include <vector>

namespace dtnn::federation {

// The divergence of one release at an order above 1; for fractional orders with sampling < 1, that
// of the next integer, which is no smaller. Infinite without noise.
double RenyiDivergence(double order, double sampling, double noise);

class RenyiAccountant {
 public:
  RenyiAccountant();
  void Add(double sampling, double noise, uint64_t releases = 1);
  // 0 before the first release; infinite where one had no noise.
  double Epsilon(double delta) const;

  // By order: what another accountant continues with. False for another number of orders.
  const std::vector<double>& spent() const { return spent_; }
  bool Restore(std::vector<double> spent);

 private:
  std::vector<double> orders_, spent_;
  // The divergences of one release with the sampling and the noise of the last call: by far most
  // calls repeat them.
  std::vector<double> one_;
  double sampling_ = 0, noise_ = 0;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_PRIVACY_RENYI_H_
