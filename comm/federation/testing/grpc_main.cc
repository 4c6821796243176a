// The suite with an aggregator that is a gRPC server.

#include "comm/federation/testing/federation_fixture.h"
#include "comm/transport/grpc/grpc_datagrams.h"
#include "comm/transport/relay/relay_door.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

int main(int argc, char** argv) {
  using namespace dtnn;
  ::testing::InitGoogleMock(&argc, argv);
  federation::PlaceUnderTest() = [] {
    federation::MeetingPlace place;
    // Free now, and with luck still when the aggregator listens there.
    place.address = Must(Must(Listen({.host = "127.0.0.1", .port = 0})).Local());
    place.datagrams = [address = place.address](const JobSecret& secret) {
      return MakeGrpcDatagrams({.size = kRanksOfDoor, .only_with_rank_0 = true, .address = address},
                               secret);
    };
    return place;
  };
  return RUN_ALL_TESTS();
}
