#include "comm/federation/client/update_numbers.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;

TEST(UpdateNumbersTest, ADifferenceIsOfWhatIsTrainedAlone) {
  const std::vector<float> begin = {1, 2, 3}, parameters = {5, 1, 9};
  EXPECT_THAT(DifferenceOf(parameters, begin, 2), ElementsAre(4, -1, 9));
  EXPECT_THAT(DifferenceOf(parameters, begin, 0), ElementsAre(5, 1, 9));
}

}  // namespace
}  // namespace dtnn::federation
