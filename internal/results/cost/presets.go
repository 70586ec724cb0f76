package cost

import "strings"

// Preset is a public list price, for a first estimate: discounts, regions and replicas change it. Users override any
// of its prices.
type Preset struct {
	Name   string
	Prices string // as Parse reads them
	For    string // what is paid
	Source string
	Date   string // when the price was read or came into effect
}

// Presets are all of them: of memory first, then of origins.
var Presets = []Preset{
	{"elasticache", "memory=0.125 USD/GB-hour", "data in Amazon ElastiCache Serverless for Redis OSS or Memcached, " +
		"US East; its charge per request is the same for hits and misses, and is left out",
		"https://aws.amazon.com/elasticache/pricing/", "2026-06"},
	{"elasticache-valkey", "memory=0.084 USD/GB-hour", "the same with Valkey",
		"https://aws.amazon.com/elasticache/pricing/", "2026-06"},
	{"s3", "miss=0.40 USD/M", "GET requests to Amazon S3 Standard from its own region, US East",
		"https://aws.amazon.com/s3/pricing/", "2025-01"},
	{"s3-internet", "miss=0.40 USD/M,egress=0.09 USD/GB", "the same from elsewhere: the first 10 TB of a month",
		"https://aws.amazon.com/s3/pricing/", "2025-01"},
	{"dynamodb", "miss=0.125 USD/M", "strongly consistent reads of up to 4 KB from Amazon DynamoDB on demand, US East",
		"https://aws.amazon.com/dynamodb/pricing/on-demand/", "2024-11"},
}

// presetsOf returns the names of the presets with a price of that kind; of all of them for "".
func presetsOf(kind string) (names []string) {
	for _, p := range Presets {
		if kind == "" || strings.Contains(","+p.Prices, ","+kind+"=") {
			names = append(names, p.Name)
		}
	}
	return names
}
