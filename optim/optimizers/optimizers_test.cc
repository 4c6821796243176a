#include "optim/optimizers/optimizers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optim/optimizers/adamw.h"
#include "optim/optimizers/oktopk.h"

namespace dtnn {
namespace {

TEST(OptimizersTest, EveryNameMakesTheOptimizerOfThatName) {
  EXPECT_EQ(OptimizerNames().size(), 6);
  for (std::string_view name : OptimizerNames()) {
    const auto optimizer = MakeOptimizer(name);
    ASSERT_TRUE(optimizer.ok()) << optimizer.status();
    EXPECT_EQ((*optimizer)->name(), name);
  }
}

TEST(OptimizersTest, WhatIsNotGivenKeepsTheOptimizersOwnDefault) {
  EXPECT_EQ((*MakeOptimizer("adamw"))->constants(), Adamw().constants());
  EXPECT_EQ((*MakeOptimizer("adamw", {.beta2 = 0.9, .decay = 0.5}))->constants(),
            Adamw({.beta2 = 0.9, .decay = 0.5}).constants());
  const auto nesterov = MakeOptimizer("sgd", {.momentum = 0.5, .nesterov = true});
  EXPECT_EQ((*nesterov)->constants().at("momentum"), 0.5);
  EXPECT_EQ((*nesterov)->constants().at("nesterov"), 1);
  EXPECT_EQ((*MakeOptimizer("oktopk", {.density = 0.5, .tau = 3}))->constants(),
            Oktopk({.density = 0.5, .tau = 3}).constants());
  EXPECT_EQ((*MakeOptimizer("rmsprop", {.rho = 0.25}))->constants().at("rho"), 0.25);
}

TEST(OptimizersTest, AnotherNameIsAnsweredWithTheNames) {
  EXPECT_THAT(std::string(MakeOptimizer("lion").status().message()),
              ::testing::AllOf(::testing::HasSubstr("lion"), ::testing::HasSubstr("sgd, rmsprop")));
}

}  // namespace
}  // namespace dtnn
