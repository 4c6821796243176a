// The page of a federation that runs: its rounds as a curve and a table, its clients and their
// state. One file, which loads nothing from elsewhere; it asks for status.json (federation_facts.h)
// every two seconds, and puts what it gets in as text.

#ifndef DTNN_APPS_AGGREGATOR_FEDERATION_PAGE_H_
#define DTNN_APPS_AGGREGATOR_FEDERATION_PAGE_H_

#include <string>

namespace dtnn {

std::string FederationPage();

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_FEDERATION_PAGE_H_
