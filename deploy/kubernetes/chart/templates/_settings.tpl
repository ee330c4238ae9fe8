{{- /* Made from base and components; change it there, then: make schemas */ -}}
{{- define "brand-engine.own-settings" }}
{{- $size := index .Values.sizes .Values.size }}
{{- if .Values.monitoring.enabled }}
ALERTMANAGER_URL: "http://{{ .Values.monitoring.release }}-alertmanager.monitoring:9093"
{{- end }}
BROKER_ADDRESS: {{ if eq .Values.broker.kind "existing" }}"{{ printf "%s:%d" .Values.broker.host (.Values.broker.port | int) }}"{{ else if eq .Values.broker.kind "plain" }}rabbitmq:5672{{ else }}rabbitmq:5671{{ end }}
BROKER_OPTIONS: {{ if eq .Values.broker.kind "plain" }}''{{ else }}?cafile=/etc/rabbitmq-ca/ca.crt{{ end }}
BROKER_SCHEME: {{ if eq .Values.broker.kind "plain" }}amqp{{ else }}amqps{{ end }}
CONSOLE_URL: {{ if not .Values.ingress.issuer }}"http://{{ .Values.ingress.console.host }}"{{ else }}"https://{{ .Values.ingress.console.host }}"{{ end }}
DATABASE_CONNECTIONS: "{{ $size.connectionsPerReplica | int }}"
EVENTS_URL: http://events:8017
GATEWAY_URL: http://gateway:8015
HTTP_HOST: 0.0.0.0
LOG_FORMAT: json
LOG_LEVEL: info
METRICS_PORT: '9464'
MODEL_URL: http://gateway:8015/v1
MONITOR_URL: http://monitor:8014
ORCHESTRATOR_URL: http://orchestrator:8010
{{- if .Values.tracing.enabled }}
OTEL_EXPORTER_OTLP_ENDPOINT: http://jaeger.observability:4318
OTEL_RESOURCE_ATTRIBUTES: host.name=brand-engine
{{- end }}
PAGES_URL: http://publisher:8012
{{- if .Values.monitoring.enabled }}
PROMETHEUS_URL: "http://{{ .Values.monitoring.release }}-prometheus.monitoring:9090"
{{- end }}
PUBLISHER_PUBLIC_URL: {{ if not .Values.ingress.issuer }}"http://{{ .Values.ingress.sites.host }}"{{ else }}"https://{{ .Values.ingress.sites.host }}"{{ end }}
PUBLISHER_URL: http://publisher:8012
RESEARCH_URL: http://research:8011
ROBOT_ABOUT: ''
SHUTDOWN_GRACE_SECONDS: '30'
SOCIAL_PUBLIC_URL: {{ if not .Values.ingress.issuer }}"http://{{ .Values.ingress.sites.feedsHost }}"{{ else }}"https://{{ .Values.ingress.sites.feedsHost }}"{{ end }}
SOCIAL_URL: http://social:8013
TRUSTED_PROXIES: ''
{{- end }}
