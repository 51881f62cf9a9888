// Telegraf's own agent with one input and one output: the whole of it has hundreds of plugins that nobody asks here.
package main

import (
	"context"
	"log"
	"os"

	"github.com/influxdata/telegraf/agent"
	"github.com/influxdata/telegraf/config"
	_ "github.com/influxdata/telegraf/plugins/inputs/snmp"
	_ "github.com/influxdata/telegraf/plugins/outputs/file"
	_ "github.com/influxdata/telegraf/plugins/serializers/influx"
)

func main() {
	configuration := config.NewConfig()
	if err := configuration.LoadAll(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	if err := agent.NewAgent(configuration).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
