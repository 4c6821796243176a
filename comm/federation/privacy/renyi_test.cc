#include "comm/federation/privacy/renyi.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

// log of the integral of (mixture / normal)^a normal, over a - 1, by the trapezoid rule.
double ByIntegral(double order, double q, double noise) {
  const double step = 1e-3 * noise;
  double sum = 0;
  for (double x = -60 * noise; x < 60 * noise + 4 * order; x += step) {
    const double log_ratio = std::log1p(q * std::expm1((2 * x - 1) / (2 * noise * noise)));
    const double log_normal = -x * x / (2 * noise * noise);
    sum += std::exp(order * log_ratio + log_normal);
  }
  return std::log(sum * step / (noise * std::sqrt(2 * M_PI))) / (order - 1);
}

TEST(RenyiTest, OneReleaseIsWhatTheDefinitionSays) {
  for (const double q : {0.001, 0.05, 0.3, 0.9}) {
    for (const double noise : {0.7, 1.0, 4.0}) {
      for (const double order : {2.0, 3.0, 8.0}) {
        const double wanted = ByIntegral(order, q, noise);
        EXPECT_NEAR(RenyiDivergence(order, q, noise), wanted, 1e-6 * wanted + 1e-12)
            << q << " " << noise << " " << order;
      }
    }
  }
  EXPECT_DOUBLE_EQ(RenyiDivergence(3, 1, 2), 3.0 / 8);
  EXPECT_GE(RenyiDivergence(2.5, 0.1, 1), ByIntegral(2.5, 0.1, 1)) << "an upper bound";
  EXPECT_EQ(RenyiDivergence(2, 0, 1), 0);
  EXPECT_TRUE(std::isinf(RenyiDivergence(2, 0.5, 0)));
}

double EpsilonOf(double q, double noise, int releases, double delta) {
  RenyiAccountant accountant;
  for (int i = 0; i < releases; ++i) accountant.Add(q, noise);
  return accountant.Epsilon(delta);
}

// Opacus 1.4, opacus/tests/accountants_test.py: 0.04, 1.5, 90 x 25 steps, delta 1e-5, with
// fractional orders too.
TEST(RenyiTest, EpsilonIsThatOfAnotherAccountant) {
  const double published = 7.32911117143;
  const double epsilon = EpsilonOf(0.04, 1.5, 2250, 1e-5);
  EXPECT_GE(epsilon, published);
  EXPECT_NEAR(epsilon, published, 1e-3);
}

// TensorFlow Privacy, tutorials/README.md: MNIST, batches of 256 of 60000, delta 1e-5. Its epsilon
// is by an older and larger bound: rdp + log(1 / delta) / (order - 1).
TEST(RenyiTest, PublishedEpsilonsOfMnist) {
  struct Row {
    double noise;
    int epochs;
    double published, now;
  };
  for (const Row& row :
       {Row{1.3, 15, 1.19, 0.95443}, Row{1.1, 60, 3.01, 2.59698}, Row{0.7, 45, 7.10, 6.37284}}) {
    const double q = 256.0 / 60000;
    const int steps = row.epochs * 60000 / 256;
    double older = INFINITY;
    for (int order = 2; order <= 64; ++order) {
      older = std::min(older,
                       steps * RenyiDivergence(order, q, row.noise) + std::log(1e5) / (order - 1));
    }
    EXPECT_NEAR(older, row.published, 0.03) << row.noise;
    EXPECT_NEAR(EpsilonOf(q, row.noise, steps, 1e-5), row.now, 1e-4) << row.noise;
  }
}

// Balle and Wang, "Improving the Gaussian mechanism for differential privacy", 2018: the exact
// delta of one release without sampling. Renyi orders give no less, and not much more.
TEST(RenyiTest, OneReleaseIsNearTheExactBound) {
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); };
  for (const double noise : {0.3, 1.0, 5.0, 50.0}) {
    const double epsilon = EpsilonOf(1, noise, 1, 1e-5);
    const double delta = normal(0.5 / noise - epsilon * noise) -
                         std::exp(epsilon) * normal(-0.5 / noise - epsilon * noise);
    EXPECT_LE(delta, 1e-5) << noise;
    const double less = 0.8 * epsilon;
    EXPECT_GT(
        normal(0.5 / noise - less * noise) - std::exp(less) * normal(-0.5 / noise - less * noise),
        1e-5)
        << noise;
  }
}

TEST(RenyiTest, NothingIsToldBeforeTheFirstReleaseAndAllWithoutNoise) {
  EXPECT_EQ(EpsilonOf(1, 1, 0, 1e-5), 0);
  EXPECT_TRUE(std::isinf(EpsilonOf(1, 0, 1, 1e-5)));
  EXPECT_LT(EpsilonOf(0.1, 1, 10, 1e-5), EpsilonOf(1, 1, 10, 1e-5));
  EXPECT_LT(EpsilonOf(1, 2, 10, 1e-5), EpsilonOf(1, 1, 10, 1e-5));
  EXPECT_LT(EpsilonOf(1, 1, 10, 1e-5), EpsilonOf(1, 1, 11, 1e-5));
}

TEST(RenyiTest, ReleasesAddUpHoweverTheyAreCounted) {
  RenyiAccountant one_by_one, at_once, mixed;
  for (int i = 0; i < 6; ++i) one_by_one.Add(0.25, 1.5);
  at_once.Add(0.25, 1.5, 6);
  for (size_t i = 0; i < at_once.spent().size(); ++i) {
    EXPECT_NEAR(at_once.spent()[i], one_by_one.spent()[i], 1e-12 * at_once.spent()[i]);
  }
  // Each kind for itself, although only one is remembered.
  RenyiAccountant noisier, likelier;
  noisier.Add(0.25, 3);
  likelier.Add(0.5, 1.5);
  for (int i = 0; i < 6; ++i) {
    mixed.Add(0.25, 1.5);
    mixed.Add(0.25, 3);
    mixed.Add(0.5, 1.5);
    mixed.Add(0.5, 1.5, 0);
  }
  for (size_t i = 0; i < mixed.spent().size(); ++i) {
    const double wanted = at_once.spent()[i] + 6 * noisier.spent()[i] + 6 * likelier.spent()[i];
    EXPECT_NEAR(mixed.spent()[i], wanted, 1e-9 * wanted);
  }
  RenyiAccountant none;
  none.Add(0.25, 1.5, 0);
  EXPECT_EQ(none.Epsilon(1e-5), 0);
}

TEST(RenyiTest, AccountsContinueWhereTheyWere) {
  RenyiAccountant before, after;
  before.Add(0.1, 1, 100);
  ASSERT_TRUE(after.Restore(before.spent()));
  EXPECT_EQ(after.Epsilon(1e-5), before.Epsilon(1e-5));
  before.Add(0.1, 1, 7);
  after.Add(0.1, 1, 7);
  EXPECT_EQ(after.spent(), before.spent());
  std::vector<double> more = before.spent();
  more.push_back(0);
  EXPECT_FALSE(after.Restore(more));
  EXPECT_FALSE(after.Restore({}));
  EXPECT_EQ(after.spent(), before.spent()) << "what is refused changes nothing";
}

TEST(RenyiTest, EpsilonIsNeverNegative) {
  RenyiAccountant accountant;
  accountant.Add(1, 1e6);
  EXPECT_EQ(accountant.Epsilon(0.5), 0);
}

}  // namespace
}  // namespace dtnn::federation
